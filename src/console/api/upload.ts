/** Uploads: `fetch` tells nothing of what has been sent so far. */
import { type Outcome, problemIn, ROOT, UNREACHABLE } from './call.ts'

interface UploadOptions {
  readonly signal: AbortSignal
  /** The share of the bytes that have left, from 0 to 1. */
  readonly onProgress: (share: number) => void
}

/** Sends a form; null when it was aborted. */
export function upload<T>(
  path: string,
  form: FormData,
  { signal, onProgress }: UploadOptions,
): Promise<Outcome<T> | null> {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest()
    request.open('POST', ROOT + path)
    request.setRequestHeader('Accept', 'application/json')
    request.setRequestHeader('X-Sluice-Request', '1')
    request.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 0 : loaded / total)
    request.onabort = () => resolve(null)
    request.onerror = () => resolve({ ok: false, problem: UNREACHABLE })
    request.onload = () => resolve(outcomeOf<T>(request))
    signal.addEventListener('abort', () => request.abort())
    request.send(form)
  })
}

async function outcomeOf<T>(request: XMLHttpRequest): Promise<Outcome<T>> {
  const { status, responseText: text } = request
  const id = request.getResponseHeader('X-Request-Id') ?? ''
  if (status < 200 || status > 299)
    return {
      ok: false,
      problem: await problemIn(new Response(text, { status, headers: { 'X-Request-Id': id } })),
    }
  return { ok: true, data: JSON.parse(text) as T, etag: null }
}
