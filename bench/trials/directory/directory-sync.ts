import { randomInt } from 'node:crypto'
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { SampleSet } from '../../harness/figures/sample-set.js'
import { residentBytes } from '../../harness/machine/proc.js'
import { ADMIN_ENVIRONMENT } from '../../performance/gateway/calls.js'
import { atMost, exactly, figure, type Trial, type TrialFigure } from '../trial.js'
import { connectDirectories } from './directory-stage.js'
import type { FakeDirectory } from './fake-directory.js'

const DIRECTORIES = 8
const USERS_A_ROUND = 1_000
const GROUPS_A_ROUND = 5
const MEMBERS = 20
const LARGE = 'large'
const LARGE_MEMBERS = 5_000
const SMALL = 'small'
const SMALL_MEMBERS = 5
/** 5 minutes for 100 rounds. */
const MS_A_ROUND = 3_000
const PATCHES = 400
const MOST_PATCH_MS = 5
const MB = 1_000_000
const PAGE = 4_096
/** Of the commit of one PATCH, as strace shows it. */
const COMMIT_PAGES = 16
/** 64 MiB, as large as the store of 100,000 users is. */
const DISK_PAGES = 16_384

const nameOf = (index: number): string => `person-${index}`

/** One directory's share: its people, then its groups. */
async function deliver(directory: FakeDirectory, users: number, groups: number): Promise<void> {
  for (let index = 0; index < users; index++) await directory.addUser(nameOf(index))
  for (let index = 0; index < groups; index++) {
    const from = (index * MEMBERS) % Math.max(1, users - MEMBERS)
    await directory.addGroup(
      `group-${index}`,
      Array.from({ length: MEMBERS }, (_, at) => nameOf(from + at)),
    )
  }
}

/**
 * Times of PATCHes that add and remove one member, by turns in a large and in a small group, and of the disk alone at
 * the same moments: what has to be flushed for a commit, its pages, which lie anywhere in the file, and then its root.
 */
async function patchInTurns(directory: FakeDirectory, person: string, folder: string) {
  const times = { [LARGE]: new SampleSet(), [SMALL]: new SampleSet(), disk: new SampleSet() }
  const file = openSync(join(folder, 'disk-alone'), 'w')
  writeSync(file, Buffer.alloc(PAGE * DISK_PAGES))
  fdatasyncSync(file)
  for (let turn = 0; turn < PATCHES; turn++) {
    for (const group of [LARGE, SMALL] as const) {
      const { ms } = await (turn % 2 === 0 ? directory.join(group, [person]) : directory.leave(group, person))
      times[group].record(ms)
    }
    const since = performance.now()
    for (const pages of [COMMIT_PAGES, 1]) {
      const bytes = Buffer.alloc(PAGE, turn)
      for (let page = 0; page < pages; page++) writeSync(file, bytes, 0, PAGE, PAGE * randomInt(DISK_PAGES))
      fdatasyncSync(file)
    }
    times.disk.record(performance.now() - since)
  }
  closeSync(file)
  return times
}

/** What a provider looks for: by the index, deep in a list, and by what no index knows. */
const LOOKUPS = (users: number): Readonly<Record<string, string>> => ({
  'userName eq': `/Users?filter=${encodeURIComponent(`userName eq "${nameOf(users >> 1)}"`)}`,
  'externalId eq': `/Users?filter=${encodeURIComponent(`externalId eq "person ${nameOf(users >> 1)}"`)}`,
  'the first 200 users': '/Users?count=200',
  'the last 200 users': `/Users?count=200&startIndex=${users - 200}`,
  'a scan for a mail address': `/Users?filter=${encodeURIComponent(`emails.value eq "${nameOf(users >> 1)}@example.com"`)}`,
  'groups by displayName': `/Groups?filter=${encodeURIComponent('displayName eq "group-1"')}&excludedAttributes=members`,
})

export const directorySync: Trial = {
  name: 'directory-sync',
  summary:
    'a first sync over 8 connections at their limit, on one core; each round is 1,000 users and 5 groups. Then PATCHes of one member, and lookups',
  rounds: 100,
  roundLimitS: 15,
  run: async ({ staging, rounds, progress }) => {
    const server = await staging.start({ environment: ADMIN_ENVIRONMENT })
    const empty = residentBytes(server.pids)
    const staged = await connectDirectories(server.port, DIRECTORIES)
    const all = staged.map(({ directory }) => directory)
    const [first] = all as [FakeDirectory]
    const users = Math.ceil((rounds * USERS_A_ROUND) / DIRECTORIES)
    const groups = Math.ceil((rounds * GROUPS_A_ROUND) / DIRECTORIES)
    const large = Math.min(LARGE_MEMBERS, users - 1)
    const since = performance.now()
    const ticking = setInterval(() => {
      const done = all.reduce((sum, one) => sum + one.users.size, 0)
      progress(`${done} users after ${Math.round((performance.now() - since) / 1_000)} s`)
    }, 30_000)
    await Promise.all(
      all.map(async (directory) => {
        await deliver(directory, users, groups)
        if (directory !== first) return
        await directory.addGroup(
          LARGE,
          Array.from({ length: large }, (_, index) => nameOf(index)),
        )
        await directory.addGroup(
          SMALL,
          Array.from({ length: SMALL_MEMBERS }, (_, index) => nameOf(index)),
        )
      }),
    ).finally(() => clearInterval(ticking))
    const syncMs = performance.now() - since
    const full = residentBytes(server.pids)
    const differences = (await Promise.all(all.map((directory) => directory.differences()))).flat()
    const times = await patchInTurns(first, nameOf(users - 1), staging.freshFolder())
    const lookups: TrialFigure[] = []
    for (const [what, path] of Object.entries(LOOKUPS(users))) {
      const { ms } = await first.client.require('GET', path)
      lookups.push(figure(`lookup: ${what}`, ms, 'ms'))
    }
    const p99 = (group: typeof LARGE | typeof SMALL): number => times[group].quantile(0.99)
    const limited = all.reduce((sum, { client }) => sum + client.limited, 0)
    for (const { client } of all) client.drop()
    await server.stop()
    return {
      bars: [
        atMost(
          `first sync of ${users * DIRECTORIES} users`,
          syncMs / 1_000,
          (rounds * MS_A_ROUND) / 1_000,
          's',
        ),
        exactly('users, groups and memberships held otherwise than delivered', differences.length, 0),
        atMost(`PATCH of one member in a group of ${large}, p99`, p99(LARGE), MOST_PATCH_MS, 'ms'),
        atMost(`PATCH of one member in a group of ${SMALL_MEMBERS}, p99`, p99(SMALL), MOST_PATCH_MS, 'ms'),
      ],
      figures: [
        figure('groups', groups * DIRECTORIES + 2),
        figure('PATCH in the large group, median', times[LARGE].quantile(0.5), 'ms'),
        figure('PATCH in the small group, median', times[SMALL].quantile(0.5), 'ms'),
        figure('the disk alone at the same time, p99', times.disk.quantile(0.99), 'ms'),
        figure('answers 429', limited),
        figure('resident memory before', empty / MB, 'MB'),
        figure('resident memory after the sync', full / MB, 'MB'),
        ...lookups,
      ],
      notes: differences.slice(0, 10),
    }
  },
}
