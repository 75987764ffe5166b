/** Embeddings of an OpenAI-compatible server (contract/gateway 13). */
import { Fault } from '../../../base/fault.js'
import {
  type Embeddings,
  type EmbeddingsRequest,
  embeddingsUsage,
  encodeVector,
  inputsOf,
  type Vector,
} from '../../formats/embeddings.js'
import {
  asObject,
  type JsonObject,
  objectsIn,
  optionalMember,
  UsageReader,
} from '../../formats/json-values.js'
import { DocumentExchange } from '../http/provider-exchange.js'
import { addExtraMembers, type ProviderServer, type WireObject } from '../http/server.js'
import { rejectCall } from '../port/failure.js'
import type { CompletionReceiver, EmbeddingsApi, ProviderCall } from '../port/provider.js'

const MISSING = 'a body without a vector for each input'

export function openAiEmbeddings(server: ProviderServer): EmbeddingsApi {
  return {
    stream: (_, receiver) => rejectCall(new Fault('internal', { detail: 'embeddings come whole' }), receiver),
    complete: server.operation(
      '/embeddings',
      'application/json',
      embeddingsBody,
      (call: ProviderCall<EmbeddingsRequest>, receiver: CompletionReceiver<Embeddings>) => {
        const document = {
          parse: (body: JsonObject) => parseEmbeddings(body, call.request),
          missing: MISSING,
        }
        return new DocumentExchange(server.source(call), receiver, document, call.generationId)
      },
    ),
  }
}

/** The encoding is told only where it is not what every server answers with; some do not know the word. */
function embeddingsBody({ request, endpoint, endUser }: ProviderCall<EmbeddingsRequest>): WireObject {
  const { input, encoding_format, dimensions } = request
  const body: WireObject = {
    model: endpoint.upstreamModel,
    input,
    ...(encoding_format === 'base64' && { encoding_format }),
    ...optionalMember('dimensions', dimensions),
    user: endUser,
  }
  return addExtraMembers(body, request)
}

/** Null where an input has no vector, or one that is none. Servers may answer in any order and in any encoding. */
function parseEmbeddings(body: JsonObject, { input, encoding_format }: EmbeddingsRequest): Embeddings | null {
  const inputs = inputsOf(input).length
  const data = objectsIn(body.data)
  if (data.length !== inputs) return null
  const vectors: Vector[] = []
  for (const [at, { index = at, embedding }] of data.entries()) {
    const vector = encodeVector(embedding, encoding_format)
    if (vector === null || !Number.isInteger(index) || (index as number) < 0 || (index as number) >= inputs)
      return null
    vectors[index as number] = vector
  }
  return Object.keys(vectors).length === inputs ? { vectors, usage: parseUsage(body) } : null
}

function parseUsage(body: JsonObject): Embeddings['usage'] {
  const read = new UsageReader()
  const usage = asObject(body.usage)
  const tokens = read.tokens(usage?.prompt_tokens) ?? read.tokens(usage?.total_tokens)
  return tokens === undefined || !read.isPlausible ? null : embeddingsUsage(tokens)
}
