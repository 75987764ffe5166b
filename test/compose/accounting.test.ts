/** What a worker tells the server of limits, and when. */
import { join } from 'node:path'
import { test } from 'tap'
import { systemClock } from '../../src/base/clock.js'
import { newGenerationId } from '../../src/base/ids.js'
import { createLog } from '../../src/base/log.js'
import { WorkerAccounting } from '../../src/compose/accounting.js'
import type { RoutedRequest } from '../../src/gateway/formats/canonical.js'
import type { Plan } from '../../src/gateway/routing/plan.js'
import { Generation } from '../../src/gateway/run/generation.js'
import { JournalReader } from '../../src/ledger/journal/journal-reader.js'
import type { LedgerMessageToSupervisor } from '../../src/process/ipc/messages.js'
import type { AccountStore } from '../../src/store/account-store.js'
import { hashOf, idOf } from '../support/data/accounts.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { PRICES } from '../support/providers/scripted-provider.js'

const JOURNAL = '1-2-3'
const CAPACITY = 1_000_000_000

function call(): Generation<RoutedRequest> {
  const now = Date.now()
  const prices = { ...PRICES, prompt: 0, completion: 0, request: 10 }
  const endpoint = { model: { id: 'acme/large' }, provider: { slug: 'acme', name: 'Acme' }, prices }
  const request = { model: 'acme/large', messages: [] } as unknown as RoutedRequest
  const caller = {
    keyHash: hashOf(1),
    kind: 'workspace',
    organizationId: idOf(1),
    workspaceId: idOf(2),
    operator: false,
  } as const
  const plan = { requested: 'acme/large', endpoints: [endpoint], trace: null } as unknown as Plan
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
    config: { dataDir },
    journal: JOURNAL,
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
