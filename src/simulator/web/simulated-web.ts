/**
 * A web that is only here, so that simulated models can search and read without a network. Nothing is dialled: an address
 * is looked up among the pages.
 */
import type { FetchFile, FileFetchOutcome } from '../../base/file-fetch.js'
import { MOVED, PAGES, type SimulatedPage } from './pages.js'
import { render } from './render.js'

const MOST_REDIRECTS = 5
/** As a server sends it. */
const PIECE_BYTES = 16_384

const pages: ReadonlyMap<string, SimulatedPage> = new Map(PAGES.map((page) => [page.url, page]))
const hosts: ReadonlySet<string> = new Set(PAGES.map(({ url }) => new URL(url).hostname))

export const simulatedWeb = {
  /** Whether an address is one of its hosts. */
  has: ({ hostname }: URL): boolean => hosts.has(hostname),
  /** As files of the real web are fetched, with redirects and missing pages. */
  fetchFile: fetchSimulated as FetchFile,
}

async function fetchSimulated({
  url: wanted,
  sink,
  maxBytes,
  refusal,
}: Parameters<FetchFile>[0]): Promise<FileFetchOutcome> {
  let url = new URL(wanted)
  for (let hop = 0; hop <= MOST_REDIRECTS; hop++) {
    const why = refusal?.(url) ?? null
    if (why !== null) return refused(why)
    url.hash = ''
    url.protocol = 'https:'
    const moved = MOVED[url.href]
    if (moved === undefined) return deliver(url.href, sink, maxBytes)
    url = new URL(moved)
  }
  return refused('it is redirected too often')
}

async function deliver(
  url: string,
  sink: Parameters<FetchFile>[0]['sink'],
  maxBytes: number,
): Promise<FileFetchOutcome> {
  const page = pages.get(url)
  if (page === undefined) return refused('its server answers with status 404')
  const { contentType, bytes } = render(page, (link) => pages.get(link)?.title ?? link)
  if (bytes.length > maxBytes) return refused(`it is larger than ${maxBytes} bytes`)
  for (let at = 0; at < bytes.length; at += PIECE_BYTES)
    await sink.write(bytes.subarray(at, at + PIECE_BYTES))
  return { ok: true, contentType, size: bytes.length, url }
}

function refused(reason: string): FileFetchOutcome {
  return { ok: false, reason, isBusy: false }
}
