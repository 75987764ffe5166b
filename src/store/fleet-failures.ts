/**
 * What becomes of keys, money, windows, ledger and calls when a part of a fleet fails: the table that operators read, in
 * `sluice fleet status`, in the console and in the guide, and that tests go through row by row.
 */

/** What the sentences depend on. */
interface FailureSettings {
  readonly staleAfterS: number
  readonly whenStoreIsAway: 'refuse' | 'serve'
}

export interface FailureRow {
  /** For tests and links. */
  readonly id: string
  readonly failure: string
  readonly keys: string
  readonly money: string
  readonly windows: string
  readonly ledger: string
  /** Calls under way, and those that come meanwhile. */
  readonly calls: string
  readonly lasts: string
  /** What an operator sees. */
  readonly seen: string
}

/** The columns behind the failure, in their order. */
export const FAILURE_COLUMNS = [
  ['keys', 'Keys'],
  ['money', 'Money'],
  ['windows', 'Windows'],
  ['ledger', 'Ledger'],
  ['calls', 'Calls'],
  ['lasts', 'How long'],
  ['seen', 'What you see'],
] as const satisfies readonly (readonly [keyof FailureRow, string])[]

/** What others grant on top of the limit before they go on without a machine. */
const GRANTED = 1.2

/** The rows for the settings of that name. */
export function failureTable({
  fleetStalenessMs,
  fleetWhenStoreIsAway: whenStoreIsAway,
}: {
  readonly fleetStalenessMs: number
  readonly fleetWhenStoreIsAway: 'refuse' | 'serve'
}): readonly FailureRow[] {
  const settings = { staleAfterS: fleetStalenessMs / 1000, whenStoreIsAway }
  return [...databaseFailures(settings), ...machineFailures(settings), ...differences(settings)]
}

function databaseFailures({ staleAfterS, whenStoreIsAway }: FailureSettings): FailureRow[] {
  const known =
    whenStoreIsAway === 'refuse'
      ? `as last known for ${staleAfterS} s from the last confirmed beat, then 503 with Retry-After`
      : `as last known, for as long as it takes; a change gets 503, and from ${staleAfterS} s on a machine that is cut off alone may still let in what others refuse`
  const down: FailureRow = {
    id: 'database-down',
    failure: 'PostgreSQL down',
    keys: known,
    money: 'leases that are out are spent to their end; then 503, never 402',
    windows: 'as money: leases to their end, then 503',
    ledger: 'rows wait in the journals; at their bound new inferences get 503',
    calls: 'go on; items, files, usage and management get 503 within 2 s; /health stays 200',
    lasts: 'until it is back, and 5 s at most beyond; machines come back at moments of their own',
    seen: 'a line at error, sluice_fleet_store_up 0, backlog grows; a line at info when it is back',
  }
  return [
    down,
    {
      ...down,
      ...{ id: 'database-frozen', failure: 'PostgreSQL frozen: accepts, never answers' },
      calls: 'as when it is down; the first that need it wait 2 s, all others are refused at once',
    },
    {
      id: 'database-slow',
      failure: 'PostgreSQL slow',
      keys: 'read from the replica as fast as ever; a change waits for its answer',
      money: 'leases hide it; a call that needs a new one waits for it, 2 s at most, then 503',
      windows: 'as money',
      ledger: 'usage is as old as the last batch',
      calls: 'items, files and management wait, 2 s at most for a statement, then 503',
      lasts: 'until it is fast again; beyond 2 s it counts as frozen',
      seen: 'age of beats and version lag in /metrics',
    },
    {
      ...down,
      ...{ id: 'database-restarted', failure: 'PostgreSQL restarted' },
      lasts: 'the restart, and 5 s at most beyond',
    },
    {
      ...down,
      ...{ id: 'database-failed-over', failure: 'PostgreSQL failed over' },
      money: 'as when it is down; with a synchronous standby no grant is lost',
      ledger: 'as when it is down; a commit that nobody knows of is looked up, so each row comes once',
      lasts: 'the failover, and 5 s at most beyond; with an asynchronous standby what it lacks is lost',
    },
  ]
}

function machineFailures({ staleAfterS }: FailureSettings): FailureRow[] {
  const grantedS = Math.ceil(staleAfterS * GRANTED)
  const killed: FailureRow = {
    id: 'machine-killed',
    failure: 'One machine killed',
    keys: `elsewhere as ever; a change that waits for it is answered after ${grantedS} s at most`,
    money: 'its leases stay counted: frozen until its journal is taken in, or it is forgotten',
    windows: 'its part of a window is back with the next window',
    ledger: 'its last rows lie in its journals and come with its next start',
    calls: `its own break off; their slots of concurrent calls are free after ${grantedS} s`,
    lasts: 'until the same folder starts again, which it may at once',
    seen: '`expired` in fleet status, with what is frozen',
  }
  return [
    killed,
    {
      ...killed,
      ...{ id: 'machine-frozen', failure: 'One machine frozen (SIGSTOP)' },
      keys: `elsewhere as when it is killed; what wakes up refuses by itself until it has joined anew`,
      calls: 'its own stand still, and go on when it wakes up',
      lasts: 'until it wakes up, joins with a new epoch and has caught up: about a second',
    },
    {
      ...killed,
      ...{ id: 'machine-cut-off', failure: 'One machine cut off from PostgreSQL' },
      keys: `elsewhere as when it is killed; the machine itself as with PostgreSQL down`,
      calls: 'its own as with PostgreSQL down',
      lasts: 'until it reaches PostgreSQL again, and 5 s at most beyond',
    },
    {
      id: 'machine-back',
      failure: 'A machine back with a full journal',
      keys: 'it serves once it has caught up with the change log',
      money: 'what was frozen is settled with the rows, the rest is free again',
      windows: 'nothing',
      ledger: 'all its rows are taken in, each once; what was cut off is closed with its estimate',
      calls: 'taken at once',
      lasts: 'some minutes for each gigabyte of journal',
      seen: 'its backlog falls to 0, and `frozen` with it',
    },
    {
      id: 'machine-disk-full',
      failure: 'Disk full on one machine',
      keys: 'as ever, as long as its replica takes changes; then as a machine that is cut off',
      money: 'its leases are given back as they are spent',
      windows: 'as ever',
      ledger: 'what is answered was written before; new inferences get 503 there',
      calls: 'those under way end; new ones get 503 on that machine alone',
      lasts: 'until there is room',
      seen: 'lines at error of that machine; its journal does not shrink',
    },
  ]
}

function differences({ staleAfterS }: FailureSettings): FailureRow[] {
  const nothing = 'nothing'
  return [
    {
      id: 'same-name',
      failure: 'Two machines with one name',
      ...{ keys: nothing, money: nothing, windows: nothing, ledger: nothing },
      calls: 'the first one serves, the second one does not start: one sentence, exit code 2',
      lasts: `until it gets a name of its own; after a death ${staleAfterS} s at most, with the same folder none`,
      seen: 'that sentence',
    },
    {
      id: 'wrong-clock',
      failure: 'The clock of a machine is wrong by an hour',
      keys: 'ends of keys and of access tokens are an hour off on that machine; revocation is not: it goes by beats',
      money: 'exact; its calls count for the day of its clock',
      windows: 'right: they go by the clock of PostgreSQL',
      ledger: 'its rows carry its time',
      calls: 'as ever',
      lasts: 'until the clock is right',
      seen: 'clock difference in fleet status, and a line at warn',
    },
    {
      id: 'two-releases',
      failure: 'Half of the machines on the next release',
      keys: 'as ever',
      money: 'as ever',
      windows: 'as ever',
      ledger: 'as ever',
      calls: 'as ever; a machine of the old release may start again, until a release removes what it needs',
      lasts: 'as long as you like, for two releases that follow each other',
      seen: 'releases in fleet status',
    },
  ]
}
