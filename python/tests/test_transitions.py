"""What a learner gets is what happened: every step, reward, end and final observation, of every kind
of environment. The games' numbers say where they come from; the learner records what arrives."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

import murmurate
from games import FIRST_ACTION, Alike, Counting, Passing, length_of, reward_of, terminates
from learner import Learner, Trajectory, read_recordings
from pettingzoo.test import parallel_api_test

FIRST, TERMINATED, TRUNCATED = 1, 2, 4
NOBODY = {"address": "ipc:///nowhere/at-all", "pace": "never", "without_policy": "random"}


def numbers(rows: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(rows).view(np.float32)


def check_life(trajectories: list[Trajectory], first_action: int, length_of=length_of) -> int:
    """The trajectories of one agent of one game; how many steps they have."""
    steps = 0
    episode = step = None
    for each in trajectories:
        seen, finals = numbers(each.observation), list(numbers(each.finals))
        for t in range(len(each.reward)):
            identity, now, place, _ = seen[t].tolist()
            if place == 0:
                assert episode is None or now == episode + 1, "an episode is missing"
            else:
                assert (now, place) == (episode, step + 1), "a step is missing, or of another episode"
            episode, step = int(now), int(place)
            length = length_of(int(identity), episode)
            assert step < length, "a final observation was acted upon"
            assert each.reward[t] == reward_of(episode, step)
            ends = step == length - 1
            flags = FIRST * (step == 0) + (TERMINATED if terminates(episode) else TRUNCATED) * ends
            assert each.flags[t] == flags
            last = t == len(each.reward) - 1
            if ends and not terminates(episode):
                following = finals.pop(0)
            elif ends:
                following = None
            else:
                following = numbers(each.next_observation)[0] if last else seen[t + 1]
            if following is not None:
                assert following.tolist() == [identity, episode, step + 1, each.action[t][0] + first_action]
            steps += 1
        assert not finals, "a final observation too many"
        for total, count, mode, success in each.episodes:
            assert mode == 0 and count >= 3
            assert total == sum(reward_of(int(total // (100 * count)), s) for s in range(count))
    return steps


def lives(trajectories: list[Trajectory]) -> dict[int, list[Trajectory]]:
    found: dict[int, list[Trajectory]] = {}
    for each in trajectories:
        found.setdefault(each.agent, []).append(each)
    return found


def check_recording(learner: Learner, agents: int, least: int) -> list[Trajectory]:
    learner.stop()
    trajectories = read_recordings(learner.recordings, row_bytes=16)
    played = [check_life(life, FIRST_ACTION) for life in lives(trajectories).values()]
    assert len(played) == agents
    assert min(played) >= least, played
    return trajectories


def test_a_single_environment_arrives_as_it_was_played() -> None:
    with Learner() as learner:
        with murmurate.Actor(learner.address, env=Counting()) as actor:
            assert actor.run(steps=250).steps == 250
            assert actor.run(steps=150).steps == 150  # goes on inside the episode
        trajectories = check_recording(learner, 1, 390)
        assert {success for each in trajectories for *_, success in each.episodes} == {1, 2}


def test_the_loop_by_hand_arrives_as_it_was_played() -> None:
    env = Counting()
    with Learner() as learner:
        with murmurate.Actor(learner.address, env=env) as actor:
            observation, _ = env.reset()
            for _ in range(300):
                action = actor.act(observation)
                observation, reward, terminated, truncated, _ = env.step(action)
                actor.reward(reward)
                if terminated or truncated:
                    actor.end(terminated, observation)
                    observation, _ = env.reset()
        check_recording(learner, 1, 290)


@pytest.mark.parametrize("make", [SyncVectorEnv, AsyncVectorEnv])
@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_no_reset_is_learned_from_in_any_autoreset_mode(make: type, mode: AutoresetMode) -> None:
    env = make([partial(Counting, i) for i in range(3)], autoreset_mode=mode)
    try:
        with Learner() as learner:
            with murmurate.Actor(learner.address, env=env) as actor:
                played = actor.run(steps=600)
                played = actor.run(steps=300)  # goes on inside the episodes
            assert played.returns and all(
                total == sum(reward_of(int(total // (100 * length)), s) for s in range(length))
                for total, length in zip(played.returns, played.lengths)
            )
            check_recording(learner, 3, 200)
    finally:
        env.close()


def test_in_lockstep_a_single_environment_arrives_as_it_was_played() -> None:
    with Learner() as learner:
        with murmurate.Actor(learner.address, env=Counting(), pace="lockstep") as actor:
            actor.run(steps=400)
            assert actor.stats().version >= 5
        check_recording(learner, 1, 390)


def test_in_lockstep_a_vectorized_environment_plays_the_same_run_twice() -> None:
    """Truncations hand trajectories of 8 steps over early, so its agents finish at different times."""
    runs = []
    for _ in range(2):
        env = SyncVectorEnv([partial(Counting, i) for i in range(3)])
        with Learner() as learner:
            with murmurate.Actor(learner.address, env=env, pace="lockstep") as actor:
                assert actor.run(steps=900).steps >= 900
                assert actor.stats().version >= 5
            learner.stop()
            runs.append(lives(read_recordings(learner.recordings, row_bytes=16)))
        env.close()
    assert len(runs[0]) == len(runs[1]) == 3
    for agent, once in runs[0].items():
        again = runs[1][agent]
        assert min(len(once), len(again)) >= 15
        for one, other in zip(once, again):
            assert one.observation.tobytes() == other.observation.tobytes()
            assert one.action.tobytes() == other.action.tobytes()


def test_in_lockstep_agents_that_come_and_go_play_on() -> None:
    with Learner() as learner:
        with murmurate.Actor(
            learner.address, env=Passing(), pace="lockstep", policies={"npc-*": "npc"}
        ) as actor:
            assert actor.run(steps=600).steps >= 600
            assert actor.stats().version >= 3


def test_pettingzoo_agents_come_and_go_and_play_the_model_that_their_name_says() -> None:
    parallel_api_test(Passing(), num_cycles=100)
    with Learner() as learner:
        with murmurate.Actor(learner.address, env=Passing(), policies={"npc-*": "npc"}) as actor:
            played = actor.run(steps=2000)
            assert played.episodes > 100
            assert [actor._table.model_of(name) for name in ("npc-4", "player_0")] == ["npc", "default"]
        learner.stop()
        for model in ("npc", "default"):
            found = lives(read_recordings(learner.recordings, model, row_bytes=16))
            steps = [check_lives_of_many(life) for life in found.values()]
            assert sum(steps) > (1000 if model == "npc" else 250)


def test_agents_that_nobody_announced_play_too() -> None:
    from pettingzoo.test.example_envs import generated_agents_parallel_v0

    env = generated_agents_parallel_v0.parallel_env(max_cycles=200)
    env.reset(seed=3)
    policies = {f"type{i}_*": f"type{i}" for i in range(32)}
    with murmurate.Actor(
        "ipc:///nowhere/at-all", env=env, policies=policies, pace="never", without_policy="random"
    ) as actor:
        played = actor.run(steps=1500, seed=3)
        assert played.steps >= 1500
        assert len({agent.model for agent in actor.agents}) >= 3


def test_agents_that_nobody_announced_wait_for_weights_and_are_evaluated_too() -> None:
    """They are born inside evaluate()."""
    from pettingzoo.test.example_envs import generated_agents_parallel_v0

    policies = {f"type{i}_*": f"type{i}" for i in range(32)}
    with Learner("[run]\nlog_interval_s = 0.05\n" + murmurate_small()) as learner:
        env = generated_agents_parallel_v0.parallel_env(max_cycles=20)
        with murmurate.Actor(learner.address, env=env, policies=policies) as actor:
            assert actor.evaluate(30, seed=3).episodes >= 30
            models = {agent.model for agent in actor.agents}
            assert len(models) >= 3
        learner.stop()
        for model in models:
            assert not read_recordings(learner.recordings, model, row_bytes=4), f"{model} learned from evaluation"


def test_every_agent_of_a_policy_file_plays_greedily(tmp_path: Path) -> None:
    """npc-0 ... are born while it is played, and the env says nothing of possible_agents."""
    with Learner() as learner:
        with murmurate.Actor(learner.address, env=Alike()) as actor:
            actor.run(steps=100)
            actor.save(tmp_path / "alike.policy")
    env = Alike()
    del env.possible_agents
    murmurate.evaluate(tmp_path / "alike.policy", env, episodes=200)
    assert len(env.taken) >= 7 and all(len(actions) == 1 for actions in env.taken.values()), env.taken


def check_lives_of_many(trajectories: list[Trajectory]) -> int:
    """An agent of ours may play for one name after another: each episode is of one of them."""
    steps = 0
    before = None
    for each in trajectories:
        seen, finals = numbers(each.observation), list(numbers(each.finals))
        for t in range(len(each.reward)):
            identity, life, place, _ = (int(n) for n in seen[t])
            assert place == 0 or before == (identity, life, place - 1)
            before = (identity, life, place)
            length = 20 if identity == 0 else length_of(identity, life)
            assert place < length and each.reward[t] == reward_of(life, place)
            over = place == length - 1
            assert each.flags[t] == FIRST * (place == 0) + over * (TERMINATED if terminates(life) else TRUNCATED)
            if over and not terminates(life):
                assert finals.pop(0).tolist() == [identity, life, length, each.action[t][0]]
            steps += 1
        assert not finals
    return steps


def test_what_is_discarded_is_not_learned_from() -> None:
    env = Counting()
    with Learner() as learner:
        with murmurate.Actor(learner.address, env=env) as actor:
            for episode in range(40):
                observation, _ = env.reset()
                over = False
                while not over:
                    observation, reward, terminated, truncated, _ = env.step(actor.act(observation))
                    actor.reward(reward)
                    over = terminated or truncated
                    if over and episode % 4 == 1:
                        actor.discard()
                    elif over:
                        actor.end(terminated, observation)
        learner.stop()
        seen = np.concatenate([numbers(each.observation) for each in read_recordings(learner.recordings, row_bytes=16)])
        # A discarded episode's steps stay only where they had been handed over before it ended.
        ends = {int(row[1]) for row in seen if row[2] == length_of(0, int(row[1])) - 1}
        assert ends == {episode for episode in range(40) if episode % 4 != 1}


def test_what_the_game_did_instead_is_what_is_recorded() -> None:
    env = Counting()
    with Learner() as learner:
        with murmurate.Actor(learner.address, env=env) as actor:
            observation, _ = env.reset()
            for i in range(100):
                actor.act(observation)
                actor.took(FIRST_ACTION + i % 3)
                observation, reward, terminated, truncated, _ = env.step(FIRST_ACTION + i % 3)
                actor.reward(reward)
                if terminated or truncated:
                    actor.end(terminated, observation, success=True)
                    observation, _ = env.reset()
        trajectories = check_recording(learner, 1, 95)
        actions = np.concatenate([each.action[:, 0] for each in trajectories])
        assert actions.tolist() == [i % 3 for i in range(len(actions))]
        assert {success for each in trajectories for *_, success in each.episodes} == {2}


def test_what_a_script_chose_is_recorded_with_its_log_probability() -> None:
    env = Counting()
    with Learner() as learner:
        with murmurate.Actor(learner.address, env=env) as actor:
            observation, _ = env.reset()
            for i in range(100):
                actor.act(observation)
                actor.took(FIRST_ACTION + i % 3, log_prob=-0.25 * (i % 5))
                observation, reward, terminated, truncated, _ = env.step(FIRST_ACTION + i % 3)
                actor.reward(reward)
                if terminated or truncated:
                    actor.end(terminated, observation)
                    observation, _ = env.reset()
        said = np.concatenate([each.log_prob for each in check_recording(learner, 1, 95)])
        assert said.tolist() == [-0.25 * (i % 5) for i in range(len(said))]


def test_evaluation_is_reported_and_not_learned_from() -> None:
    with Learner() as learner:
        with murmurate.Actor(learner.address, env=Counting()) as actor:
            actor.run(steps=100)
            scored = actor.evaluate(5)
            actor.run(steps=100)
        learner.stop()
        trajectories = read_recordings(learner.recordings, row_bytes=16)
        trained = {int(row[1]) for each in trajectories for row in numbers(each.observation)}
        evaluated = {int(total // (100 * length)) for total, length in zip(scored.returns, scored.lengths)}
        assert len(evaluated) == 5 and not evaluated & trained
        assert min(trained) < min(evaluated) and max(trained) > max(evaluated)


def test_settings_reports_and_successes_reach_the_learner_and_the_game() -> None:
    config = "[settings]\ndifficulty = 3\n"
    with Learner(config + "[run]\nlog_interval_s = 0.05\n" + murmurate_small()) as learner:
        env, read = Counting(), []
        with murmurate.Actor(learner.address, env=env) as actor:
            actor.run(
                steps=400,
                reports=("depth",),
                before_episode=lambda: read.append(actor.setting("difficulty", -1.0)),
            )
        assert read[-1] == 3.0
        learner.stop()
        reports = (learner.folder / "runs" / "run" / "reports.csv").read_text()
        assert "depth" in reports
        successes = learner.column("rollout/success_rate")
        assert 0.2 < successes[-1] < 0.5  # every third episode


def murmurate_small() -> str:
    from learner import SMALL

    return SMALL


def test_masks_are_obeyed_and_recorded_however_they_are_given() -> None:
    from games import Masked

    for way in ("observation", "info", "method"):
        with Learner() as learner:
            with murmurate.Actor(learner.address, env=Masked(way)) as actor:
                actor.run(steps=150)
            learner.stop()
            trajectories = read_recordings(learner.recordings, row_bytes=8)
            masks = np.concatenate([each.mask for each in trajectories])
            actions = np.concatenate([each.action[:, 0] for each in trajectories])
            assert len(masks) > 140 and (masks.sum(axis=1) == 1).all(), way
            assert (masks.argmax(axis=1) == actions).all(), way


@pytest.mark.parametrize("make", [SyncVectorEnv, AsyncVectorEnv])
@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("way", ["observation", "info", "method"])
def test_masks_of_vectorized_environments_are_obeyed(way: str, mode: AutoresetMode, make: type) -> None:
    """Each ends at another time, so that one of them is reset while the others play on."""
    from games import Masked

    env = make([partial(Masked, way, length) for length in (3, 4, 7)], autoreset_mode=mode)
    try:
        with murmurate.Actor(env=env, **NOBODY) as actor:
            assert actor.run(steps=300).episodes > 60
    finally:
        env.close()


def test_masks_that_only_some_environments_have_are_refused_in_words() -> None:
    from games import Masked

    env = SyncVectorEnv([partial(Masked, "method"), partial(Masked, "info")])
    with pytest.raises(murmurate.InvalidArgument, match=r"only some .* have action_masks\(\): give it to all"):
        murmurate.Actor(env=env, **NOBODY)


def test_what_is_to_be_done_before_each_reset_needs_an_environment_that_does_not_reset_itself() -> None:
    for mode in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP):
        with murmurate.Actor(env=SyncVectorEnv([Counting, Counting], autoreset_mode=mode), **NOBODY) as actor:
            with pytest.raises(murmurate.InvalidArgument, match="AutoresetMode.DISABLED"):
                actor.run(steps=10, before_episode=lambda: None)
    asked = []
    env = SyncVectorEnv([Counting, partial(Counting, 1)], autoreset_mode=AutoresetMode.DISABLED)
    with murmurate.Actor(env=env, **NOBODY) as actor:
        # Lengths by games.length_of: 3 10 8 ... and 6 4 11 ...: resets at the start, 3, 6, 10 and 13.
        actor.run(steps=26, before_episode=lambda: asked.append(None))
        assert len(asked) == 5


def test_gymnasium_is_the_real_one() -> None:
    assert gym.make("CartPole-v1").spec is not None
