/** Which models of the catalogue could answer a request, and what is known of them. */
import { Fault, invalidInput } from '../../../base/fault.js'
import type { Catalog, Model } from '../../catalog/catalog.js'
import { isPrefixEntry } from '../../catalog/configuration/models.js'
import type { RoutedRequest } from '../../formats/canonical.js'
import { forEachContentLeaf } from '../../formats/content-parts.js'
import type { RequestedPlugin } from '../../formats/tooling.js'
import { producesText } from '../../metering/format.js'
import { ModelPatterns } from './model-patterns.js'

export interface Candidate {
  readonly model: Model
  /** Of its cheapest endpoint, nano-dollars per million tokens. */
  readonly promptPrice: number
  /** The same for three tokens of prompt to one of completion, as conversations have them. */
  readonly price: number
}

/** What a router looks among. */
interface RouterPool {
  /** Null where every model may be taken. */
  readonly allowed: ModelPatterns | null
  /** They win over those that are allowed. */
  readonly excluded: ModelPatterns
}

/** Every model of the catalogue. */
const WHOLE_POOL: RouterPool = { allowed: null, excluded: new ModelPatterns([]) }

/** Pieces of patterns that are looked for in all ids together: some tens of milliseconds of work. */
const MOST_PIECES = 1_000_000

/** The pool that patterns allow; null where they have too many stars for so many models. */
export function poolOf(
  catalog: Catalog,
  allowed: readonly string[] | null,
  excluded: readonly string[] = [],
): RouterPool | null {
  const pool = {
    allowed: allowed === null ? null : new ModelPatterns(allowed),
    excluded: new ModelPatterns(excluded),
  }
  const pieces = (pool.allowed?.pieces ?? 0) + pool.excluded.pieces
  return pieces * catalog.models.length > MOST_PIECES ? null : pool
}

/** What is read of a request of either format of text. */
export interface RoutableRequest extends RoutedRequest {
  readonly messages?: readonly {
    readonly role: string
    readonly content?: unknown
    readonly model?: unknown
  }[]
  readonly system?: unknown
  readonly tools?: readonly unknown[]
  readonly max_tokens?: number | null
  readonly max_completion_tokens?: number | null
}

/** What a part of a message asks of a model's ears and eyes. */
const MODALITIES: Readonly<Record<string, string>> = {
  image_url: 'image',
  image: 'image',
  file: 'file',
  document: 'file',
  input_audio: 'audio',
  video_url: 'video',
  input_video: 'video',
}

/** Characters of a token, for the question whether a prompt can fit at all; a text that is denser is the provider's to refuse. */
const CHARS_PER_TOKEN = 4

/**
 * The models that could answer, in the order of the catalogue. Simulated ones stand for themselves: beside a real model
 * they are only taken where the caller allows them by name.
 */
export function findCandidates(
  catalog: Catalog,
  request: RoutableRequest,
  { allowed, excluded }: RouterPool = WHOLE_POOL,
): Candidate[] {
  const needs = needsOf(request)
  const isFit = (model: Model): boolean =>
    !isPrefixEntry(model.id) &&
    canAnswer(model, needs) &&
    !excluded.names(model.id) &&
    (allowed === null || allowed.names(model.id))
  const fit = catalog.models.filter(isFit)
  const real = fit.filter((model) => !isSimulated(model))
  const taken = real.length > 0 && allowed === null ? real : fit
  return taken.map((model) => ({ model, ...pricesOf(model) }))
}

export function isSimulated({ endpoints }: Model): boolean {
  return endpoints.every(({ provider }) => provider.kind === 'simulated')
}

interface Needs {
  readonly modalities: ReadonlySet<string>
  readonly outputs: readonly string[]
  readonly tokens: number
  readonly hasTools: boolean
}

function needsOf(request: RoutableRequest): Needs {
  const modalities = new Set<string>()
  let characters = 0
  for (const { content } of [{ content: request.system }, ...(request.messages ?? [])]) {
    forEachContentLeaf(content, (leaf) => {
      if (typeof leaf === 'string') characters += leaf.length
      else if (typeof leaf.text === 'string') characters += leaf.text.length
      else if (typeof leaf.type === 'string' && Object.hasOwn(MODALITIES, leaf.type))
        modalities.add(MODALITIES[leaf.type]!)
    })
  }
  const answer = request.max_completion_tokens ?? request.max_tokens ?? 0
  return {
    modalities,
    outputs: request.modalities ?? ['text'],
    tokens: Math.ceil(characters / CHARS_PER_TOKEN) + answer,
    hasTools: (request.tools?.length ?? 0) > 0,
  }
}

/** PDFs are read by the `file-parser` where a model cannot, so files ask nothing of it. */
function canAnswer(model: Model, { modalities, outputs, tokens, hasTools }: Needs): boolean {
  return (
    outputs.every((output) => model.outputModalities.includes(output)) &&
    [...modalities].every((kind) => kind === 'file' || model.inputModalities.includes(kind)) &&
    model.endpoints.some(
      (endpoint) =>
        producesText(endpoint) &&
        (endpoint.contextLength ?? Number.POSITIVE_INFINITY) >= tokens &&
        (!hasTools || endpoint.supportedParameters.has('tools')),
    )
  )
}

function pricesOf({ endpoints }: Model): { promptPrice: number; price: number } {
  let promptPrice = Number.POSITIVE_INFINITY
  let price = Number.POSITIVE_INFINITY
  for (const { prices } of endpoints) {
    promptPrice = Math.min(promptPrice, prices.prompt)
    price = Math.min(price, (3 * prices.prompt + prices.completion) / 4)
  }
  return { promptPrice, price }
}

/** The figure of a task, the general one where the task has none of its own; null where there is neither. */
export function qualityOf({ model: { quality } }: Candidate, task: string): number | null {
  if (quality === null) return null
  if (Object.hasOwn(quality, task)) return quality[task]!
  return Object.hasOwn(quality, 'overall') ? quality.overall! : null
}

/** Cheaper first; of two alike the one that comes first by name, so that every process chooses alike. */
export function byPrice(one: Candidate, other: Candidate): number {
  return one.price - other.price || (one.model.id < other.model.id ? -1 : 1)
}

/** Nothing in the catalogue can answer within the caller's lists. */
export function noCandidate(id: string): Fault {
  const note = `No model that ${id} may choose can answer this request`
  return new Fault('item-not-found', { note, metadata: { error_type: 'not_found' } })
}

/** What the operator has to write into the configuration first. */
export function missingColumn({ id, place }: RequestedPlugin, column: string): Fault {
  return invalidInput(
    ['body', ...place],
    `${id} cannot choose: no model that could answer has models.<id>.${column} in the configuration`,
  )
}
