/** The machines of a fleet in PostgreSQL. Every statement of a machine is fenced by its epoch. */
import type {
  BeatAnswer,
  FleetTerms,
  JoinOutcome,
  JoinRequest,
  MachineBeat,
  MachineBehind,
  MachineState,
  Membership,
  PresentMachine,
  ReplicaPosition,
} from '../membership.js'
import type { Database, Query } from './database.js'

interface MachineRow extends PresentMachine {
  readonly folder: string
  readonly run: string
  readonly state: MachineState
  readonly public_url: string
  readonly api_key_hash: string
  readonly management_key_hash: string
}

/** A version counts only where its change is the one of this history; what comes late takes nothing back. */
const APPLIED = (version: string, change: string): string =>
  `greatest(applied, (SELECT c.version FROM sluice.changes c WHERE c.version = ${version} AND c.id = ${change}))`

const OWN_ROW = `name = $1 AND epoch = $2 AND state IN ('joining', 'live')`
const STORE_MS = `(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS "storeMs"`

/** What an update of the own row, called `self`, answers with; no row when it touched none. */
const ANSWER = `
  SELECT self.applied, (SELECT version FROM sluice.change_head) AS head, ${STORE_MS},
    sluice.called_in($1, $2) AS called,
    coalesce((SELECT json_agg(json_build_object(
        'name', name, 'epoch', epoch, 'beat', beat, 'stalenessMs', staleness_ms))
      FROM sluice.machines WHERE state IN ('joining', 'live') AND name <> $1), '[]') AS others
  FROM self`

/** Sets machines to expired whose beats have not moved; $4 to $6 are their names, epochs and beats. */
const EXPIRE = (names: string, epochs: string, beats: string): string => `
  UPDATE sluice.machines AS m SET state = 'expired'
  FROM unnest(${names}::text[], ${epochs}::bigint[], ${beats}::bigint[]) AS silent (name, epoch, beat)
  WHERE m.name = silent.name AND m.epoch = silent.epoch AND m.beat = silent.beat
    AND m.state IN ('joining', 'live')`

const GO_LIVE = `
  WITH self AS (
    UPDATE sluice.machines SET state = 'live', applied = ${APPLIED('$3', '$4')}, beat = beat + 1
    WHERE ${OWN_ROW} RETURNING applied)
  ${ANSWER}`

const BEAT = `
  WITH self AS (
    UPDATE sluice.machines SET applied = ${APPLIED('$3', '$4')}, beat = beat + 1, facts = $5,
      beat_at = clock_timestamp()
    WHERE ${OWN_ROW} RETURNING applied),
  expired AS (${EXPIRE('$6', '$7', '$8')} AND EXISTS (SELECT FROM self))
  ${ANSWER}`

const CONFIRM = `
  UPDATE sluice.machines SET applied = ${APPLIED('$3', '$4')} WHERE ${OWN_ROW} RETURNING 1`

const BEHIND = `
  SELECT name, epoch, beat, staleness_ms AS "stalenessMs", applied, state <> 'expired' AS "isAwaited"
  FROM sluice.machines
  WHERE applied < $1 AND (name = $2 AND epoch = $3) IS NOT TRUE AND (state = 'live' OR (state = 'expired' AND serves_away))`

export function createMembership(database: Database): Membership {
  const answerOf = async (sql: string, values: readonly unknown[]): Promise<BeatAnswer | null> => {
    const [answer] = await database.query<BeatAnswer>(sql, values)
    return answer ?? null
  }
  return {
    join: (request) => database.transaction((query) => join(query, request)),
    goLive: ({ name, epoch }, applied) => answerOf(GO_LIVE, [name, epoch, ...placeOf(applied)]),
    beat: ({ name, epoch }, applied, facts, silent) =>
      answerOf(BEAT, [name, epoch, ...placeOf(applied), facts, ...columnsOf(silent)]),
    confirm: async ({ name, epoch }, applied) =>
      (await database.query(CONFIRM, [name, epoch, ...placeOf(applied)])).length > 0,
    behind: (version, except) =>
      database.query<MachineBehind>(BEHIND, [version, except?.name ?? null, except?.epoch ?? null]),
    expire: async (silent) => {
      await database.query(EXPIRE('$1', '$2', '$3'), columnsOf(silent))
    },
    leave: async ({ name, epoch }) => {
      await database.query(`UPDATE sluice.machines SET state = 'left' WHERE ${OWN_ROW}`, [name, epoch])
    },
    forget: (name) => database.transaction((query) => forget(query, name)),
  }
}

function placeOf(applied: ReplicaPosition | null): readonly unknown[] {
  return [applied?.version ?? null, applied?.change ?? null]
}

function columnsOf(silent: readonly MachineBeat[]): readonly (readonly unknown[])[] {
  return [silent.map(({ name }) => name), silent.map(({ epoch }) => epoch), silent.map(({ beat }) => beat)]
}

/** One at a time over the whole fleet: the row of the fleet is locked first. */
async function join(query: Query, request: JoinRequest): Promise<JoinOutcome> {
  const [fleet] = await query<{ sealing_check: string | null; storeMs: number }>(
    `SELECT sealing_check, ${STORE_MS} FROM sluice.fleet FOR UPDATE`,
  )
  const { sealing_check: check, storeMs } = fleet!
  if (check !== null && !request.opensCheck(check)) return { joined: false, refusal: OTHER_SEALING_KEY }
  const machines = await query<MachineRow>(
    `SELECT name, folder, run, epoch, beat, staleness_ms AS "stalenessMs", state, public_url, api_key_hash, management_key_hash
     FROM sluice.machines`,
  )
  const former = machines.find(({ name }) => name === request.name)
  const barred = former === undefined ? null : await barredBy(query, former, request)
  if (barred !== null) return barred
  const refusal = findOtherTerms(request, machines)
  if (refusal !== null) return { joined: false, refusal }
  const epoch = await takeEpoch(query, request)
  return {
    joined: true,
    epoch,
    formerEpoch: former?.state === 'left' ? null : (former?.epoch ?? null),
    storeMs,
  }
}

/** Whether the machine that has or had the name keeps it from this one. */
async function barredBy(
  query: Query,
  former: MachineRow,
  { name, folder, run, isRejoining }: JoinRequest,
): Promise<JoinOutcome | null> {
  const { epoch, beat, stalenessMs, state } = former
  if (former.folder === folder) {
    // Whoever had the folder before has ended, and that run's epoch is over with this one's.
    if (!isRejoining || former.run === run) return null
    const refusal = `another server has joined as the machine "${name}" with a copy of this data folder`
    return { joined: false, refusal }
  }
  if (isPresent(state)) return { joined: false, occupied: { name, epoch, beat, stalenessMs } }
  const [debt] = await query<{ open: boolean }>('SELECT sluice.has_open_leases($1) AS open', [name])
  if (!debt!.open) return null
  return {
    joined: false,
    refusal: `the machine "${name}" still holds a part of the limits, and this is not its data folder: start it with that folder, or give the part up with "sluice fleet forget ${name}"`,
  }
}

const isPresent = (state: MachineState): boolean => state === 'joining' || state === 'live'

const OTHER_SEALING_KEY =
  'the sealing key (SLUICE_SEALING_KEY_FILE) is not the one that the secrets in the database are sealed with'

/** What each term is set by. */
const TERM_SETTINGS: { readonly [K in keyof FleetTerms]: string } = {
  publicUrl: 'SLUICE_PUBLIC_URL',
  apiKeyHash: 'SLUICE_API_KEY',
  managementKeyHash: 'SLUICE_MANAGEMENT_KEY',
}

/** A sentence when machines that live have other terms. Keys are never named. */
function findOtherTerms({ name, terms }: JoinRequest, machines: readonly MachineRow[]): string | null {
  for (const machine of machines) {
    if (machine.name === name || !isPresent(machine.state)) continue
    const theirs: FleetTerms = {
      publicUrl: machine.public_url,
      apiKeyHash: machine.api_key_hash,
      managementKeyHash: machine.management_key_hash,
    }
    for (const [term, setting] of Object.entries(TERM_SETTINGS) as [keyof FleetTerms, string][]) {
      if (terms[term] !== theirs[term]) {
        return `${setting} is not what it is on the machine "${machine.name}": it must be the same on all machines`
      }
    }
  }
  return null
}

async function takeEpoch(query: Query, request: JoinRequest): Promise<number> {
  const { name, folder, run, terms, servesAway, stalenessMs, facts, sealedCheck } = request
  const [taken] = await query<{ epoch: number }>(
    `WITH fleet AS (
       UPDATE sluice.fleet SET last_epoch = last_epoch + 1, sealing_check = coalesce(sealing_check, $8)
       RETURNING last_epoch)
     INSERT INTO sluice.machines
       (name, folder, run, epoch, state, serves_away, public_url, api_key_hash, management_key_hash, facts,
        staleness_ms)
     SELECT $1, $2, $9, last_epoch, 'joining', $3, $4, $5, $6, $7, $10 FROM fleet
     ON CONFLICT (name) DO UPDATE SET folder = $2, run = $9, epoch = excluded.epoch, state = 'joining', beat = 0,
       applied = 0, serves_away = $3, public_url = $4, api_key_hash = $5, management_key_hash = $6,
       facts = $7, staleness_ms = $10, joined_at = now(), beat_at = now()
     RETURNING epoch`,
    [
      ...[name, folder, servesAway, terms.publicUrl, terms.apiKeyHash, terms.managementKeyHash],
      ...[facts, sealedCheck, run, stalenessMs],
    ],
  )
  return taken!.epoch
}

async function forget(query: Query, name: string): Promise<'forgotten' | 'live' | 'unknown'> {
  // As those who join: nobody takes the name meanwhile.
  await query('SELECT FROM sluice.fleet FOR UPDATE')
  const [machine] = await query<{ state: MachineState }>(
    'SELECT state FROM sluice.machines WHERE name = $1 FOR UPDATE',
    [name],
  )
  if (machine === undefined) return 'unknown'
  if (isPresent(machine.state)) return 'live'
  await query('SELECT sluice.void_leases($1)', [name])
  await query('DELETE FROM sluice.machines WHERE name = $1', [name])
  return 'forgotten'
}
