/** Cross-origin rules, when the operator has switched them on (Fetch standard, CORS protocol). */
import type { HeaderList, HttpCall, Reply } from '../transport/exchange.js'

export type Cors = ReturnType<typeof createCors>

/** Headers a page may read beyond the few that are always safe. */
const EXPOSED =
  'Location, Retry-After, Server-Timing, X-Audio-Sample-Rate, X-Generation-Id, X-Items-Scanned, X-Request-Id, X-Service-Untranslated'
const PREFLIGHT_SECONDS = '600'

/** Rules for a list of origins; `*` lets every page in. */
export function createCors(origins: readonly string[]) {
  const any = origins.includes('*')
  const allowOrigin = (origin: string): HeaderList => {
    if (any) return [['Access-Control-Allow-Origin', '*']]
    const vary = ['Vary', 'Origin'] as const
    return origins.includes(origin) ? [['Access-Control-Allow-Origin', origin], vary] : [vary]
  }
  return {
    /** Answers a preflight for a path that allows `allow`. */
    preflight: (call: HttpCall, allow: readonly string[]): Reply => {
      const wanted = call.header('access-control-request-headers')
      const headers = [
        ...allowOrigin(call.header('origin')),
        ['Access-Control-Allow-Methods', allow.join(', ')] as const,
        ['Access-Control-Max-Age', PREFLIGHT_SECONDS] as const,
      ]
      if (wanted !== '') headers.push(['Access-Control-Allow-Headers', wanted] as const)
      return { status: 204, headers, body: null }
    },
    /** Adds what a browser needs to hand the reply to a page from `origin`. */
    decorate: (reply: Reply, origin: string): Reply => {
      const exposed = ['Access-Control-Expose-Headers', EXPOSED] as const
      return { ...reply, headers: [...reply.headers, ...allowOrigin(origin), exposed] }
    },
  }
}
