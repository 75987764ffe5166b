/** What the shared ledger and the bank have to say about calls that were seen from outside. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { FleetCall } from './load.js'
import { CALL_NANOS, type FleetStage, type Payer } from './stage.js'

/** Usage shows every answered call within a second; a machine that has other things to do gets more. */
const SETTLED_WITHIN_MS = 15_000
const LOOK_AGAIN_MS = 250

/**
 * Sentences for everything in the books of a key, and in the bank, that the calls with it do not agree with; none when all
 * is well.
 */
export async function auditBooks(
  stage: FleetStage,
  { keyHash }: Pick<Payer, 'keyHash'>,
  calls: readonly FleetCall[],
): Promise<string[]> {
  const served = calls.filter(({ status }) => status === 200)
  const rows = await awaitRows(stage, keyHash, served)
  const missing = served.filter(({ id }) => !rows.has(id))
  const doubled = [...rows].filter(([, { count }]) => count > 1)
  const cost = [...rows.values()].reduce((sum, row) => sum + row.cost, 0)
  // A call that broke off may have been served; the ledger then knows it, and the caller does not.
  const most = (served.length + calls.filter(({ status }) => status === 0).length) * CALL_NANOS
  const [spent = '0'] = (
    await stage.sql(`SELECT cost FROM sluice.ledger_sums WHERE payer = 'k${keyHash}' AND period = 'never'`)
  ).flat()
  return [
    ...complain(missing.length > 0, `${missing.length} answered calls are not in the ledger`),
    ...complain(doubled.length > 0, `${doubled.length} calls are in the ledger more than once`),
    ...complain(cost > most, `the ledger has rows for ${(cost - most) / CALL_NANOS} calls that nobody made`),
    ...complain(Number(spent) !== cost, `the sum of the key is ${spent}, and its rows come to ${cost}`),
    ...(await auditBank(stage)),
  ]
}

/** Sentences for every account of the bank that is not within its limit, or does not agree with its leases. */
export async function auditBank(stage: FleetStage): Promise<string[]> {
  const wrong = await stage.sql(`
    SELECT a.name, a.capacity, a.settled, a.leased, a.overspent, a.withdrawn, coalesce(sum(l.drawn - l.folded), 0)
    FROM sluice.bank_accounts a LEFT JOIN sluice.bank_leases l ON l.account = a.name
    WHERE a.kind = 'money'
    GROUP BY a.name
    HAVING a.settled + a.leased > a.capacity OR a.overspent > 0
      OR a.leased + a.withdrawn <> coalesce(sum(l.drawn - l.folded), 0)`)
  return wrong.map(
    ([name, capacity, settled, leased, overspent, withdrawn, out]) =>
      `account ${name} of ${capacity}: settled ${settled}, leased ${leased}, overspent ${overspent}, withdrawn ${withdrawn}, and ${out} is out`,
  )
}

/** The rows of a key by generation, as soon as all these calls are among them or it has taken too long. */
async function awaitRows(stage: FleetStage, keyHash: string, served: readonly FleetCall[]) {
  for (const end = performance.now() + SETTLED_WITHIN_MS; ; await sleep(LOOK_AGAIN_MS)) {
    const found = await stage.sql(
      `SELECT id, count(*), sum(cost) FROM sluice.ledger_rows
       WHERE kind = 'call' AND key_hash = '${keyHash}' GROUP BY id`,
    )
    const rows = new Map(
      found.map(([id = '', count, cost]) => [id, { count: Number(count), cost: Number(cost) }]),
    )
    if (served.every(({ id }) => rows.has(id)) || performance.now() > end) return rows
  }
}

function complain(isWrong: boolean, sentence: string): string[] {
  return isWrong ? [sentence] : []
}
