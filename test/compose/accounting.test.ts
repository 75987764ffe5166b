/** What a worker tells the server of limits, and when. */
import { join } from 'node:path'
import { test } from 'tap'
import { systemClock } from '../../src/base/clock.js'
import { newGenerationId } from '../../src/base/ids.js'
import { createLog } from '../../src/base/log.js'
import { WorkerAccounting } from '../../src/compose/accounting.js'
import { openLedger } from '../../src/compose/ledger.js'
import type { RoutedRequest } from '../../src/gateway/formats/canonical.js'
import type { Plan } from '../../src/gateway/routing/plan.js'
import { Generation } from '../../src/gateway/run/generation.js'
import { JournalReader } from '../../src/ledger/journal/journal-reader.js'
import { JournalWriter } from '../../src/ledger/journal/journal-writer.js'
import type { LedgerMessageToSupervisor } from '../../src/process/ipc/messages.js'
import type { AccountStore } from '../../src/store/account-store.js'
import { findRow } from '../../src/store/ledger/row-text.js'
import { hashOf, idOf } from '../support/data/accounts.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { NOBODY } from '../support/models/nobody.js'
import { UNWATCHED } from '../support/models/unwatched.js'
import { PRICES } from '../support/providers/scripted-provider.js'

const JOURNAL = '1-2-3'
const CAPACITY = 1_000_000_000

function call(more: object = {}): Generation<RoutedRequest> {
  const now = Date.now()
  const prices = { ...PRICES, prompt: 0, completion: 0, request: 10 }
  const provider = { slug: 'acme', name: 'Acme' }
  const endpoint = { model: { id: 'acme/large' }, provider, prices, region: null }
  const request = { model: 'acme/large', messages: [], ...more } as unknown as RoutedRequest
  const caller = {
    keyHash: hashOf(1),
    kind: 'workspace',
    organizationId: idOf(1),
    workspaceId: idOf(2),
    operator: false,
  } as const
  const plan = {
    requested: 'acme/large',
    endpoints: [endpoint],
    trace: null,
    version: 'v',
  } as unknown as Plan
  return new Generation(newGenerationId(now), request, caller, plan, now, performance.now())
}

test('the row of a call is in the journal before what it has left over is given back', async (t) => {
  const dataDir = tempFolder(t)
  const acquired: string[] = []
  const told: { readonly type: string; readonly closed: boolean }[] = []
  const journals = join(dataDir, 'ledger', 'journals')
  const closedInJournal = (): boolean => {
    const reader = new JournalReader(journals, JOURNAL)
    const { lines } = reader.read({ segment: 0, offset: 0 })
    reader.close()
    return lines.some((line) => line.startsWith('C '))
  }
  const parts = new WorkerAccounting({
    ...openLedger(dataDir),
    fleet: null,
    journal: JOURNAL,
    people: NOBODY,
    live: UNWATCHED,
    store: {
      accounts: { organization: () => ({ id: idOf(1), credits: CAPACITY }) } as unknown as AccountStore,
    },
    clock: systemClock,
    log: createLog('fatal', 'test'),
    baseUrl: 'http://localhost',
    sendToSupervisor: (message: LedgerMessageToSupervisor) => {
      told.push({ type: message.type, closed: closedInJournal() })
      if (message.type === 'acquire-quota') {
        const { id } = message
        acquired.push(message.request.name)
        queueMicrotask(() =>
          parts.onMessage({ type: 'quota-grant', id, grant: { granted: 100, epoch: 0, resetInMs: 0 } }),
        )
      }
      return true
    },
  })
  const generation = call()
  const admission = await parts.accounting.admit(generation)
  t.equal(acquired.length, 1)
  const name = acquired[0]!
  const settled = admission.settle(generation, { kind: 'completed' })
  t.equal(closedInJournal(), false, 'it is written at the end of the turn, if nothing else asks for it')
  // In the same turn.
  parts.onMessage({ type: 'quota-revocation', name })
  t.same(told, [
    { type: 'acquire-quota', closed: false },
    { type: 'release-quota', closed: true },
  ])
  await settled
  await parts.close()
})

test('on a disk without room for what a row tells, its figures are written', async (t) => {
  const dataDir = tempFolder(t)
  const parts = new WorkerAccounting({
    ...openLedger(dataDir),
    fleet: null,
    journal: JOURNAL,
    people: NOBODY,
    live: UNWATCHED,
    store: { accounts: { organization: () => null } as unknown as AccountStore },
    clock: systemClock,
    log: createLog('fatal', 'test'),
    baseUrl: 'http://localhost',
    sendToSupervisor: () => true,
  })
  const { hasRoomForLine } = JournalWriter.prototype
  t.teardown(() => {
    JournalWriter.prototype.hasRoomForLine = hasRoomForLine
  })
  const ids: string[] = []
  for (const isFull of [false, true]) {
    if (isFull) JournalWriter.prototype.hasRoomForLine = () => false
    const generation = call({ user: 'somebody', metadata: { a: 'b' } })
    const admission = await parts.accounting.admit(generation)
    await admission.settle(generation, { kind: 'completed' })
    ids.push(generation.id)
  }
  const reader = new JournalReader(join(dataDir, 'ledger', 'journals'), JOURNAL)
  const text = Buffer.from(reader.read({ segment: 0, offset: 0 }).lines.join('\n'))
  reader.close()
  const [told, short] = ids.map((id) => findRow(text, id)!.detail)
  t.match(told, { model: 'acme/large', why: { user: 'somebody', metadata: { a: 'b' } } })
  t.match(short, { model: 'acme/large', why: { user: null, metadata: null } })
  await parts.close()
})
