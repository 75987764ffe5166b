import { test } from 'tap'
import { Fault } from '../../src/base/fault.js'
import { newGenerationId } from '../../src/base/ids.js'
import { generationEndpoints } from '../../src/features/generation/endpoints.js'
import type { HttpCall, Reply } from '../../src/http/endpoint.js'
import type { LedgerRow, UsageLedger } from '../../src/store/ledger-store.js'
import { NOBODY } from '../support/models/nobody.js'
import { CALLER } from '../support/providers/scripted-provider.js'

test('whoever asks for a generation of others is kept waiting exactly as for one that does not exist', async (t) => {
  const foreign = newGenerationId(1)
  const steps: string[] = []
  const ledger: Pick<UsageLedger, 'row' | 'sync'> = {
    row: (id) => {
      steps.push('row')
      return id === foreign ? ({ organizationId: 'another' } as LedgerRow) : null
    },
    sync: async () => void steps.push('sync'),
  }
  const [read] = generationEndpoints(ledger as UsageLedger, { key: () => null }, NOBODY)
  const handle = read!.handle as unknown as (input: object, call: HttpCall) => Promise<Reply>
  for (const id of [foreign, newGenerationId(2)]) {
    steps.length = 0
    const refused = await handle({ caller: CALLER, query: { id } }, {} as HttpCall).catch((error) => error)
    t.ok(refused instanceof Fault && refused.kind === 'item-not-found')
    t.same(steps, ['row', 'sync', 'row'])
  }
})
