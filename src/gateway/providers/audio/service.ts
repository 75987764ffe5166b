/** A service of speech or transcription with a format of its own. */
import { Fault } from '../../../base/fault.js'
import type { RoutedRequest } from '../../formats/canonical.js'
import { type HeaderPairs, ProviderServer, type ServerOptions } from '../http/server.js'
import type { FailureSource } from '../port/failure.js'
import type { Provider, ProviderCall } from '../port/provider.js'

/** What such a service does; it has nothing to say to text. */
export type AudioService = Pick<Provider, 'speech' | 'transcription'>

/** The server of a service that takes its key in one header, behind `scheme`. */
export function serviceServer(options: ServerOptions, header: string, scheme = ''): ProviderServer {
  const credential: HeaderPairs = options.apiKey === null ? [] : [[header, scheme + options.apiKey]]
  return new ProviderServer(options, credential)
}

/** Who answers a call, with the service's own form of errors. */
export function serviceSource(
  server: ProviderServer,
  call: ProviderCall<RoutedRequest>,
  readError: NonNullable<FailureSource['readError']>,
): FailureSource {
  return { ...server.source(call), without422: true, readError }
}

/** Servers take request lines of about eight kilobytes; a longer one looks to them like a broken client. */
const LONGEST_QUERY = 6_000

/** The fault of a request whose members are too long for a query; null when they are not. */
export function refuseLongQuery(query: string, members: string): Fault | null {
  if (query.length <= LONGEST_QUERY) return null
  const note = `${members} are too long for this provider, which takes them in its address`
  return new Fault('bad-request', { note, metadata: { error_type: 'invalid_request' } })
}

/** Media types of formats whose name is none; others are `audio/` and the name. */
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  mp3: 'audio/mpeg',
  mpga: 'audio/mpeg',
  m4a: 'audio/mp4',
  oga: 'audio/ogg',
  opus: 'audio/ogg',
  mp4: 'video/mp4',
  webm: 'video/webm',
}

export function mediaTypeOfFormat(format: string): string {
  const name = format.toLowerCase()
  return MEDIA_TYPES[name] ?? `audio/${name}`
}
