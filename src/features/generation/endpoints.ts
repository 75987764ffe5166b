import type { Principal } from '../../base/principal.js'
import { gateway } from '../../http/dialects/gateway.js'
import { type Endpoint, endpointGroup } from '../../http/endpoint.js'
import { idParam } from '../../http/params.js'
import { resourceReply } from '../../http/reply.js'
import type { LedgerRow, UsageLedger } from '../../store/ledger-store.js'
import { encodeGeneration, GenerationAnswer } from './schema.js'

const operation = endpointGroup({ tag: 'usage', dialect: gateway })

/** What became of one inference (contract/gateway 11.4). */
export const generationEndpoints = (ledger: UsageLedger): Endpoint[] => [
  operation('read_generation', 'GET /api/v1/generation', {
    summary: 'Read what a generation came to',
    access: 'key',
    query: { id: { ...idParam('Id of the generation, from its answer.'), required: true } },
    replies: { 200: { description: 'The generation', schema: GenerationAnswer } },
    faults: ['item-not-found', 'unavailable'],
    handle: async ({ caller, query }) => {
      const row = ledger.row(query.id) ?? (await findAfterSync(ledger, query.id))
      return resourceReply(row !== null && mayReadRow(caller, row) ? row : null, encodeGeneration)
    },
  }),
]

/** A row that is not there yet may stand in the journal of any worker. */
async function findAfterSync(ledger: UsageLedger, id: string): Promise<LedgerRow | null> {
  if (!id.startsWith('gen-')) return null
  await ledger.sync()
  return ledger.row(id)
}

/** The organization's management keys, and the keys of the workspace it ran in. Nobody else learns that it exists. */
function mayReadRow(caller: Principal, { organizationId, keyHash, workspaceId }: LedgerRow): boolean {
  if (caller.organizationId !== organizationId) return false
  return caller.kind === 'management' || caller.keyHash === keyHash || caller.workspaceId === workspaceId
}
