/** What may be shown of the words of a provider: short, and without anything that looks like a credential. */

const MAX_CHARS = 500
const REDACTED = '[redacted]'

/** Keys by their usual beginnings, bearer credentials, and any long run of letters and digits mixed. */
const CREDENTIALS: readonly RegExp[] = [
  /\bbearer\s+\S+/gi,
  /\b(?:sk|pk|rk|key|api|gsk|xai|AIza)[-_][\w*.-]{6,}/gi,
  /\bAIza[\w-]{10,}/g,
  /\beyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?/g,
  /\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{24,}/g,
]

/** A provider's reason for a refusal that the caller can mend; undefined when it gave none. */
export function sanitizeReason(message: unknown, secrets: readonly string[]): string | undefined {
  if (typeof message !== 'string' || message === '') return undefined
  // Cut only after hiding, so that no cut leaves half a credential that nothing recognises; but bound the work first.
  const bounded = message.slice(0, 8 * MAX_CHARS)
  const text = CREDENTIALS.reduce(
    (rest, pattern) => rest.replace(pattern, REDACTED),
    redactSecrets(bounded, secrets),
  )
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS - 1)}…` : text
}

/** A code that is a plain word; undefined for sentences, and for a word that holds a credential. */
export function sanitizeCode(code: string | undefined, secrets: readonly string[]): string | undefined {
  if (code === undefined || !/^[\w.:-]{1,64}$/.test(code)) return undefined
  const hidden = CREDENTIALS.some((pattern) => code.search(pattern) >= 0)
  return hidden || redactSecrets(code, secrets) !== code ? undefined : code
}

function redactSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => (secret === '' ? rest : rest.replaceAll(secret, REDACTED)), text)
}
