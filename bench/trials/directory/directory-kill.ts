import { setTimeout as sleep } from 'node:timers/promises'
import { ADMIN_ENVIRONMENT } from '../../performance/gateway/calls.js'
import { KilledServer } from '../process/killed-server.js'
import type { Staging } from '../staging.js'
import { atLeast, exactly, figure, type Trial, type TrialContext } from '../trial.js'
import { connectDirectories, type StagedDirectory } from './directory-stage.js'
import type { FakeDirectory } from './fake-directory.js'

const DIRECTORIES = 4
const USERS = 40

/** What one directory delivers between two kills: people, groups, and changes of both. */
async function deliver(directory: FakeDirectory, round: number): Promise<void> {
  const names = Array.from({ length: USERS }, (_, index) => `r${round}u${index}`)
  const joining: (() => Promise<unknown>)[] = []
  for (const [index, name] of names.entries()) {
    await directory.addUser(name)
    if (index % 10 !== 9) continue
    const group = `r${round}g${(index / 10) | 0}`
    await directory.addGroup(group, names.slice(index - 9, index - 4))
    for (const member of names.slice(index - 4, index)) joining.push(() => directory.join(group, [member]))
    joining.push(() => directory.leave(group, names[index - 9]!))
    joining.push(() => directory.setActive(name, false))
  }
  for (const step of joining) await step()
}

/** Kills the whole server when so many more requests were answered. */
async function killAfter(server: KilledServer, staged: readonly StagedDirectory[], answers: number) {
  const answered = (): number => staged.reduce((sum, { directory }) => sum + directory.client.answered, 0)
  const due = answered() + answers
  while (answered() < due) await sleep(1)
  const kill = await server.killGroup()
  await server.recovered(kill)
}

/** Plays `rounds` kills in the middle of a sync, and tells what is held otherwise than it was delivered. */
export async function syncUnderKills({
  staging,
  rounds,
  progress,
}: Pick<TrialContext, 'rounds' | 'progress'> & { readonly staging: Staging }) {
  const server = await KilledServer.start(staging, staging.freshFolder(), { ...ADMIN_ENVIRONMENT })
  const staged = await connectDirectories(server.running.port, DIRECTORIES)
  const all = staged.map(({ directory }) => directory)
  // What each round asks for, at least.
  const requests = DIRECTORIES * USERS
  for (let round = 0; round < rounds; round++) {
    const killing = killAfter(server, staged, Math.floor((0.1 + 0.8 * Math.random()) * requests))
    await Promise.all([killing, ...all.map((directory) => deliver(directory, round))])
    progress(
      `kill ${round + 1}/${rounds}: ${all.reduce((sum, { users }) => sum + users.size, 0)} users delivered`,
    )
  }
  const differences = (await Promise.all(all.map((directory) => directory.differences()))).flat()
  for (const { client } of all) client.drop()
  await server.running.stop()
  const sum = (of: (directory: FakeDirectory) => number): number =>
    all.reduce((total, one) => total + of(one), 0)
  return {
    differences,
    lost: sum(({ lost }) => lost),
    foundAgain: sum(({ foundAgain }) => foundAgain),
    users: sum(({ users }) => users.size),
    groups: sum(({ groups }) => groups.size),
  }
}

export const directoryKill: Trial = {
  name: 'directory-kill',
  summary:
    'SIGKILL of the whole server in the middle of a sync of four directories: nothing lost, nothing doubled',
  rounds: 20,
  roundLimitS: 60,
  run: async (context) => {
    const found = await syncUnderKills(context)
    return {
      bars: [
        exactly('users, groups and memberships held otherwise than delivered', found.differences.length, 0),
        atLeast('requests without an answer (else nothing was tried)', found.lost, context.rounds),
      ],
      figures: [
        figure('kills', context.rounds),
        figure('users delivered', found.users),
        figure('groups delivered', found.groups),
        figure('created although not answered, and found again', found.foundAgain),
      ],
      notes: found.differences.slice(0, 10),
    }
  },
}
