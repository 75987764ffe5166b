/** What callers mean by paths that do not exist here (contract/decisions 50). */

const CHAT = 'use POST /api/v1/chat/completions'

/** By what stands behind the base path. Sentences never hold words of the caller. */
const ADVICE: readonly (readonly [path: RegExp, sentence: string])[] = [
  [/^\/(chat|chat\/completion|completion|completions\/chat|generate|engines\/.*)$/, CHAT],
  [
    /^\/responses(\/|$)/,
    `the responses format is not served; ${CHAT}: clients have a call for it, such as client.chat.completions, ` +
      `openai.chat(model) or setOpenAIAPI('chat_completions')`,
  ],
  [/^\/completions$/, `a prompt without messages is not served; ${CHAT}`],
  [/^\/complete$/, 'use POST /api/v1/messages'],
  [
    /^\/(messages\/)?batches(\/|$)/,
    'batches are not served; send each request to /api/v1/chat/completions or /api/v1/messages',
  ],
  [
    /^\/audio\/translations$/,
    'translations are not served; POST /api/v1/audio/transcriptions writes down what is said in its own language',
  ],
  [/^\/tags$/, 'use GET /api/v1/models'],
  [/^\/embeddings\/models$/, 'use GET /api/v1/models?output_modalities=embeddings'],
  [/^\/auth\/keys?\b/, 'keys are made with POST /api/v1/keys and a management key'],
  [
    /^\/(images|videos|rerank|moderations|realtime|assistants|threads|fine_tuning|vector_stores|uploads|containers|conversations|skills|presets|guardrails|activity)(\/|$)/,
    'this is not served here; /docs lists what is',
  ],
]

/** Of whole paths: below the base path there is nothing of the kind to be told of. */
const ADVICE_AT_ROOT: typeof ADVICE = [
  [/^\/(health(z|check)?|live(z|ness)?|ready(z)?|ping|status)$/, 'use GET /api/v1/health'],
  [/^\/(openapi|swagger|redoc|api-docs)\b/, 'the document is /api/v1/openapi.json, its page /docs'],
  [/^\/(oauth2\/)?token$/, 'use POST /api/v1/oauth/token'],
  [
    /^\/\.well-known\/openid-configuration$/,
    'nobody signs in here; the token endpoint is described in /.well-known/oauth-authorization-server',
  ],
  [/^\/metrics$/, 'the metrics are off or at an address of their own: the setting SLUICE_METRICS'],
  [/^\/console\b/, 'the console is at /console, unless the setting SLUICE_CONSOLE says off'],
  [/^\/docs\/guide\b/, 'the documentation begins at /docs/guide'],
  [/^\/lab\b/, 'the lab is off or at an address of its own: the setting SLUICE_LAB'],
]

/** What clients put before a path, where they have another base path than ours. */
const BASE = /^(?:\/+(?:api|openai|anthropic|v\d+(?:beta\d*)?)(?=\/|$))+/
/** Begins at the first of them alone: a path of slashes would be walked once for each. */
const SLASHES_AT_END = /(?<!\/)\/+$/
const LONGEST_PATH = 200

/**
 * Tells what to use in place of a path, as a sentence; null where nobody knows.
 *
 * @param paths of the operations that clients of this field look for, with `{name}` for parameters
 */
export function pathAdviser(paths: readonly string[]): (path: string) => string | null {
  const served = [...new Set(paths)].map((path) => ({ path, segments: segmentsOf(path) }))
  const servedAt = (asked: readonly string[]): string | undefined =>
    served.find(({ segments }) => matches(segments, asked))?.path
  return (path) => {
    if (path.length > LONGEST_PATH) return null
    const rest = path.replace(SLASHES_AT_END, '').replace(BASE, '')
    if (/:(stream)?generateContent$/i.test(rest)) return CHAT
    if (rest === '') return null
    const meant = servedAt(segmentsOf(`/api/v1${rest}`)) ?? servedAt(segmentsOf(rest))
    if (meant?.startsWith('/api/v1/')) {
      return `use ${meant} (base URLs end with /api/v1, for clients of the messages format with /api)`
    }
    if (meant !== undefined) return `use ${meant}`
    const sentence =
      ADVICE_AT_ROOT.find(([pattern]) => pattern.test(path)) ?? ADVICE.find(([pattern]) => pattern.test(rest))
    return sentence?.[1] ?? null
  }
}

function segmentsOf(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '')
}

function matches(pattern: readonly string[], asked: readonly string[]): boolean {
  if (pattern.length !== asked.length) return false
  return pattern.every((segment, at) => segment.startsWith('{') || segment === asked[at])
}
