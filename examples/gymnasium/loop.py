# The same with a loop of one's own:  python loop.py
import gymnasium as gym, murmurate
env = gym.make("CartPole-v1")
actor = murmurate.Actor("tcp://127.0.0.1:7420", env=env)
obs, _ = env.reset()
for _ in range(200_000):
    a = actor.act(obs)
    obs, r, terminated, truncated, _ = env.step(a)
    actor.reward(r)
    if terminated or truncated:
        actor.end(terminated, obs)
        obs, _ = env.reset()
actor.close()
