/** The bytes of a file that a request names in one of three ways. */
import { cancellationOf } from '../../../base/cancellation.js'
import { Fault } from '../../../base/fault.js'
import type { FetchFile } from '../../../base/file-fetch.js'
import type { PluginRun } from '../port/plugin.js'
import { bytesOf, type FilePart } from './parts.js'

interface Loading {
  readonly fetchFile: FetchFile
  readonly maxBytes: number
  readonly run: PluginRun
}

type LoadedFile =
  | { readonly bytes: Buffer; readonly name: string }
  /** The caller's mistake; goes on from the name of the member. */
  | { readonly problem: string }
  | { readonly fault: Fault }

const FETCH_MS = 30_000

export async function loadFile(part: FilePart, loading: Loading): Promise<LoadedFile> {
  const { data, url, id, name } = part
  if (data !== undefined) {
    const bytes = bytesOf(data)
    return bytes === null ? { problem: 'has no bytes in base64' } : { bytes, name: name || 'document.pdf' }
  }
  if (loading.maxBytes <= 0) return { problem: 'is too large beside the files before it' }
  if (url !== undefined) return fetchBytes(url, name, loading)
  const stored = await loading.run.files.read(id!, loading.maxBytes)
  if (stored === null) return { problem: 'names a file that is too large, or whose bytes are gone' }
  return { bytes: stored.bytes, name: name || stored.file.filename }
}

async function fetchBytes(
  url: string,
  name: string,
  { fetchFile, maxBytes, run: { caller, signal } }: Loading,
): Promise<LoadedFile> {
  const pieces: Buffer[] = []
  const outcome = await fetchFile({
    url,
    sink: { write: (piece) => void pieces.push(Buffer.from(piece)) },
    maxBytes,
    timeoutMs: FETCH_MS,
    organizationId: caller.organizationId,
    caller: cancellationOf(signal),
  })
  if (outcome.ok) return { bytes: Buffer.concat(pieces), name: name || 'document.pdf' }
  if (!outcome.isBusy) return { problem: outcome.reason }
  const note = 'Too many files are being fetched'
  return { fault: new Fault('unavailable', { note, metadata: { error_type: 'server' }, retryAfter: 1 }) }
}
