/** Failure table, `wrong-clock`: a machine whose clock is an hour ahead. */
import { existsSync } from 'node:fs'
import { test } from 'tap'
import { EXACT_MODEL } from '../../../src/drill/fleet/stage.js'
import { drillFleetStage } from '../../support/servers/drill-fleet.js'
import { WITHOUT_POSTGRES } from '../../support/servers/postgres-cluster.js'
import { eventually } from '../../support/timing/eventually.js'

const LIBRARY = ['x86_64', 'aarch64']
  .map((kind) => `/usr/lib/${kind}-linux-gnu/faketime/libfaketime.so.1`)
  .find(existsSync)
const HOUR_S = 3_600
const skip = WITHOUT_POSTGRES || (LIBRARY === undefined && 'faketime is not installed here')

test('money, windows and revocation do not go by the clock of a machine', { skip }, async (t) => {
  const stage = await drillFleetStage(t)
  const fast = await stage.fleet.addMachine('fast', {
    LD_PRELOAD: LIBRARY!,
    FAKETIME: `+${HOUR_S}`,
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  })
  await fast.start()
  const ask = async (url: string, key: string): Promise<{ status: number; id: string | null }> => {
    const response = await fetch(`${url}/api/v1/chat/completions`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ model: EXACT_MODEL, messages: [{ role: 'user', content: 'what time is it' }] }),
    })
    await response.text()
    return { status: response.status, id: response.headers.get('x-generation-id') }
  }
  const [right] = stage.fleet.machines
  const payer = await stage.addPayer(100)
  const { status, id } = await ask(fast.url, payer.key)
  t.equal(status, 200)
  const [[offset]] = (await eventually(async () => {
    const rows = await stage.sql(
      `SELECT extract(epoch FROM begun_at - now()) FROM sluice.ledger_rows WHERE id = '${id}'`,
    )
    return rows.length === 1 ? rows : null
  })) as [[string]]
  t.ok(Math.abs(Number(offset) - HOUR_S) < 120, `its rows carry its time: ${offset} s ahead`)

  // Where the minute of the database may end meanwhile, only the least is known.
  const limits = { rate_limit: { requests_per_minute: 6 } }
  const few = await stage.addKey(payer.managementKey, 0, limits)
  const tenCalls = async (): Promise<number> => {
    const answers: number[] = []
    for (let call = 0; call < 10; call++) {
      answers.push((await ask(call % 2 === 0 ? fast.url : right!.url, few.key)).status)
    }
    return answers.filter((each) => each === 200).length
  }
  const [[second]] = (await stage.sql('SELECT extract(second FROM clock_timestamp())')) as [[string]]
  const served = await tenCalls()
  if (Number(second) < 40) t.equal(served, 6, 'both count in the same minute, that of the database')
  else t.ok(served >= 6)

  const change = await stage.manage(
    0,
    'PATCH',
    `/keys/${few.keyHash}`,
    { disabled: true },
    payer.managementKey,
  )
  t.equal(change.status, 200)
  t.strictSame([(await ask(fast.url, few.key)).status, (await ask(right!.url, few.key)).status], [401, 401])
})
