/** What searches and reads the web: engines and addresses as the configuration of the moment has them. */
import type { Clock } from '../base/clock.js'
import type { DocumentReader } from '../base/document-reader.js'
import type { FetchFile } from '../base/file-fetch.js'
import type { GatewayConfig } from '../gateway/catalog/configuration.js'
import type { CountTokens } from '../gateway/metering/format.js'
import { createWebPlugin } from '../gateway/plugins/web/web.js'
import { createWebFetchPlugin } from '../gateway/plugins/web-fetch/web-fetch.js'
import { createWebFetchTool } from '../gateway/tools/web-fetch/web-fetch.js'
import { createWebSearchTool } from '../gateway/tools/web-search/web-search.js'
import { engineAsker } from '../gateway/web/engines/ask-engine.js'
import { configuredEngines } from '../gateway/web/engines/engines.js'
import { createPageReader } from '../gateway/web/page-reader.js'
import type { PageReader, SearchEngines } from '../gateway/web/port.js'
import { simulatedSearch } from '../simulator/web/search-index.js'
import { simulatedWeb } from '../simulator/web/simulated-web.js'
import { jsonCaller } from '../upstream/call-json.js'
import type { UpstreamClient } from '../upstream/port.js'

export interface WebParts {
  /** The configuration of the moment. */
  readonly settings: () => GatewayConfig
  /** Asks search engines; without an address guard, because the operator has named them. */
  readonly upstream: UpstreamClient
  /** Fetches what callers and models name, behind the address guard. */
  readonly fetchFile: FetchFile
  readonly documents: DocumentReader
  readonly countTokens: CountTokens
  readonly clock: Clock
}

export function composeWeb(parts: WebParts) {
  const { settings } = parts
  const engines = renewedWith(settings, (config) => enginesOf(config, parts))
  const reader = renewedWith(settings, (config) => readerOf(config, parts))
  const searching = () => settings().tools.web_search
  const fetching = () => settings().tools.web_fetch
  const searchFee = { price: () => searching().price, timeoutMs: () => searching().timeoutMs }
  const fetchFee = { price: () => fetching().price, timeoutMs: () => fetching().timeoutMs }
  return {
    tools: [
      createWebSearchTool({ engines, ...searchFee }),
      createWebFetchTool({ reader, knownOnly: () => fetching().knownAddressesOnly, ...fetchFee }),
    ],
    plugins: [
      createWebPlugin({ engines, ...searchFee, isOff: () => searching().enabled === false }),
      createWebFetchPlugin({ reader, ...fetchFee, isOff: () => fetching().enabled === false }),
    ],
  }
}

/** Made anew when the configuration has changed. */
function renewedWith<T>(settings: () => GatewayConfig, make: (config: GatewayConfig) => T): () => T {
  let of: GatewayConfig | null = null
  let made: T
  return () => {
    const config = settings()
    if (config !== of) made = make(config)
    of = config
    return made
  }
}

function enginesOf({ tools, credentials }: GatewayConfig, { upstream }: WebParts): SearchEngines {
  const { backend, searxng, brave, tavily, exa } = tools.web_search
  const account = (named: { baseUrl: string; apiKeyEnv: string } | null) =>
    named && { baseUrl: named.baseUrl, key: credentials[named.apiKeyEnv] ?? '' }
  const named = {
    ...{ searxng, brave: account(brave), tavily: account(tavily), exa: account(exa) },
    preferred: backend,
  }
  return {
    configured: configuredEngines(engineAsker(jsonCaller(upstream)), named),
    simulated: simulatedSearch,
  }
}

function readerOf({ tools }: GatewayConfig, parts: WebParts): PageReader {
  const { fetchFile, documents, countTokens, clock } = parts
  const { enabled, maxBytes } = tools.web_fetch
  return createPageReader({
    ...{ fetchFile, documents, countTokens, clock, maxBytes },
    simulated: simulatedWeb,
    isOn: enabled === true,
  })
}
