/** The configuration file that `sluice init` writes. */

interface WrittenProvider {
  /** Short name of the provider. */
  readonly slug: string
  readonly kind: 'openai' | 'anthropic'
  readonly baseUrl: string
  /** Null for a server without a key. */
  readonly keyFrom: string | null
}

/** YAML. Every text from outside stands in quotes, as JSON, which YAML reads as it is. */
export function configurationText(provider: WrittenProvider, models: readonly string[]): string {
  const { slug, kind, baseUrl, keyFrom } = provider
  const byId = new Map(models.map((name) => [callerModelId(slug, name), name]))
  const entries = [...byId].map(([id, name]) => {
    return `  ${JSON.stringify(id)}:\n    endpoints: [{ provider: ${slug}, upstream_model: ${JSON.stringify(name)} }]\n`
  })
  return `# Written by sluice init. docs/guide/providers-and-models.md tells what else there is, such as prices.
providers:
  ${slug}:
    kind: ${kind}
    base_url: ${JSON.stringify(baseUrl)}
${keyFrom === null ? '' : `    api_key_env: ${keyFrom}   # the key is read from this variable\n`}models:
${entries.join('')}`
}

const PART = '[A-Za-z0-9][A-Za-z0-9._-]*'
const MODEL_ID = new RegExp(`^${PART}/${PART}(?::${PART})?$`)

/** The name callers use: the provider's own where it can be one, otherwise one behind the provider's short name. */
export function callerModelId(slug: string, upstreamName: string): string {
  const isOwn = MODEL_ID.test(upstreamName) && !upstreamName.startsWith('sim/')
  if (isOwn) return upstreamName
  const [name = '', ...variant] = upstreamName.split(':').map(readablePart)
  return [`${slug}/${name || 'model'}`, variant.join('-')].filter((part) => part !== '').join(':')
}

function readablePart(text: string): string {
  return text.replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^[^A-Za-z0-9]+/, '')
}
