/** Text of a scanned PDF by a service for it, in the shape that Mistral's `POST /v1/ocr` has. */
import type { CallJson } from '../../../upstream/call-json.js'
import { asObject, objectsIn } from '../../formats/json-values.js'
import type { PluginRun } from '../port/plugin.js'

/** `plugins.file-parser.ocr` of the configuration. */
interface OcrSettings {
  readonly url: string
  readonly apiKey: string | null
  readonly model: string
  /** Nano-dollars that a caller is charged for a page. */
  readonly pricePerPage: number
}

type OcrOutcome =
  | { readonly ok: true; readonly pages: readonly string[] }
  /** For the log. */
  | { readonly ok: false; readonly reason: string }

export interface Ocr {
  readonly pricePerPage: number
  /** Never rejects. */
  read(bytes: Buffer, run: PluginRun): Promise<OcrOutcome>
}

const TIMEOUT_MS = 120_000
const LARGEST_ANSWER = 16 * 1024 * 1024

export function createOcr(callJson: CallJson, { url, apiKey, model, pricePerPage }: OcrSettings): Ocr {
  const headers = apiKey === null ? [] : [['authorization', `Bearer ${apiKey}`] as const]
  return {
    pricePerPage,
    read: async (bytes, { caller, signal }) => {
      const document_url = `data:application/pdf;base64,${bytes.toString('base64')}`
      const answer = await callJson({
        url,
        headers,
        body: { model, document: { type: 'document_url', document_url }, include_image_base64: false },
        caller: caller.organizationId,
        signal,
        timeoutMs: TIMEOUT_MS,
        maxAnswerBytes: LARGEST_ANSWER,
      })
      if (!answer.ok) return answer
      if (answer.status !== 200)
        return { ok: false, reason: `the service answered with status ${answer.status}` }
      const pages = readPages(answer.value)
      return pages === null
        ? { ok: false, reason: 'the service answered without pages' }
        : { ok: true, pages }
    },
  }
}

/** Texts in the order of their `index`. */
function readPages(value: unknown): readonly string[] | null {
  const pages = objectsIn(asObject(value)?.pages)
  if (pages.length === 0 || pages.some(({ markdown }) => typeof markdown !== 'string')) return null
  const sorted = pages.toSorted((one, other) => Number(one.index) - Number(other.index))
  return sorted.map(({ markdown }) => markdown as string)
}
