/** Embeddings, passed through (contract/gateway 13). */
import type { ValidationIssue } from '../../base/fault.js'
import type { Embeddings, EmbeddingsRequest } from '../../gateway/formats/embeddings.js'
import { STATE_MEMBERS } from '../../gateway/formats/extra-members.js'
import { embeddingsFormat } from '../../gateway/metering/embeddings-format.js'
import type { Generation } from '../../gateway/run/generation.js'
import type { ServiceMetadata } from '../../gateway/run/metadata.js'
import { gateway as dialect } from '../../http/dialects/gateway.js'
import { type Endpoint, endpointGroup } from '../../http/endpoint.js'
import { metadataMember } from '../../inference-http/generation-told.js'
import {
  costMembers,
  INFERENCE_FAULTS,
  type InferencePorts,
  inferenceOperation,
  wholeReply,
} from '../../inference-http/inference-reply.js'
import {
  bodyIssue,
  requireRules,
  routingContradiction,
  SESSION_HEADER,
} from '../../inference-http/request-members.js'
import { memberNames, sortMembers } from '../../inference-http/sort-members.js'
import { type EmbeddingsBody, EmbeddingsReply, embeddingsBody, embeddingsMembers } from './schema.js'

const operation = endpointGroup({ tag: 'Embeddings', dialect })

const REPLY_FORMAT = { format: embeddingsFormat, encode: encodeEmbeddings }

export const embeddingsEndpoints = (ports: InferencePorts): Endpoint[] => [
  operation('embeddings', 'POST /api/v1/embeddings', {
    ...inferenceOperation(ports),
    summary: 'Turn texts into vectors',
    body: embeddingsBody,
    examples: { texts: { model: 'sim/embed', input: ['a cat', 'a dog'], dimensions: 8 } },
    replies: {
      200: {
        description: 'A vector for each input, in their order',
        schema: EmbeddingsReply,
        headers: { 'X-Generation-Id': 'Id of the generation, also in the body.' },
      },
    },
    faults: [...INFERENCE_FAULTS, 'unprocessable'],
    handle: ({ body, caller }, call) => {
      const request = decodeEmbeddings(body, call.header(SESSION_HEADER))
      return wholeReply(ports.gateway, REPLY_FORMAT, request, caller, call)
    },
  }),
]

const MEMBERS = memberNames(embeddingsMembers, STATE_MEMBERS)

/** Throws `invalid-input` for the first rule between fields that is broken. */
function decodeEmbeddings(body: EmbeddingsBody, sessionId: string): EmbeddingsRequest {
  requireRules(body, [inputsAreAlike, routingContradiction], sessionId)
  const request = { encoding_format: 'float', ...sortMembers(body, MEMBERS) }
  const session = body.session_id ?? (sessionId === '' ? undefined : sessionId)
  return (session === undefined ? request : { ...request, session_id: session }) as EmbeddingsRequest
}

/** Most texts, or lists of tokens, of a call. */
const MOST_INPUTS = 2048

function inputsAreAlike({ input }: EmbeddingsBody): ValidationIssue | null {
  if (typeof input === 'string') return null
  const kind = kindOf(input[0])
  if (kind !== 'number' && input.length > MOST_INPUTS)
    return bodyIssue(['input'], `must have at most ${MOST_INPUTS} entries`)
  const odd = input.findIndex((each) => kindOf(each) !== kind)
  return odd < 0 ? null : bodyIssue(['input', odd], 'must be of the kind of the first entry')
}

function kindOf(entry: unknown): string {
  return Array.isArray(entry) ? 'list' : typeof entry
}

/** Written by hand: an answer may hold millions of numbers, and nothing but they varies. */
function encodeEmbeddings(
  { id, model, providerName, consumption }: Generation<EmbeddingsRequest>,
  { vectors }: Embeddings,
  metadata: ServiceMetadata | null,
): string {
  const data = vectors.map(
    (vector, index) => `{"object":"embedding","index":${index},"embedding":${JSON.stringify(vector)}}`,
  )
  const { usage, cost } = consumption!
  return (
    `{"id":"${id}","object":"list","data":[${data.join(',')}],"model":${JSON.stringify(model)},` +
    `"provider":${JSON.stringify(providerName)},"usage":{"prompt_tokens":${usage.prompt},` +
    `"total_tokens":${usage.prompt},${costMembers(cost)}}${metadataMember(metadata)}}`
  )
}
