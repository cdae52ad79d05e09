# Any number of these, in any number of processes:  python actor.py &
import gymnasium as gym, murmurate
env = gym.make("CartPole-v1")
with murmurate.Actor("tcp://127.0.0.1:7420", env=env) as actor:
    actor.run(steps=200_000)
