/** The plugins of a worker. What they need of the configuration is read when a request asks for them. */
import { cancellationOf } from '../base/cancellation.js'
import type { DocumentReader } from '../base/document-reader.js'
import type { FetchFile } from '../base/file-fetch.js'
import type { CpuPool } from '../cpu-pool/pool.js'
import type { Catalog } from '../gateway/catalog/catalog.js'
import type { GatewayConfig } from '../gateway/catalog/configuration.js'
import { createAlignment } from '../gateway/plugins/alignment/alignment.js'
import { contextCompression } from '../gateway/plugins/context-compression/context-compression.js'
import { createFileParser } from '../gateway/plugins/file-parser/file-parser.js'
import { createOcr, type Ocr } from '../gateway/plugins/file-parser/ocr.js'
import { endpointModerator } from '../gateway/plugins/moderation/endpoint-moderator.js'
import { createModeration } from '../gateway/plugins/moderation/moderation.js'
import { judgeModerator, type Moderator } from '../gateway/plugins/moderation/verdict.js'
import type { Plugin } from '../gateway/plugins/port/plugin.js'
import {
  createResponseHealing,
  type RepairJson,
} from '../gateway/plugins/response-healing/response-healing.js'
import { createAutoRouters } from '../gateway/plugins/routers/auto.js'
import { createParetoRouter } from '../gateway/plugins/routers/pareto.js'
import { createSwitchyardRouter } from '../gateway/plugins/routers/switchyard.js'
import type { ModelPins } from '../gateway/routing/model-pins.js'
import { type CallJson, jsonCaller } from '../upstream/call-json.js'
import type { UpstreamClient } from '../upstream/port.js'

export interface PluginParts {
  /** The catalogue of this moment, and the configuration. */
  readonly catalog: () => Catalog
  readonly settings: () => GatewayConfig
  readonly pool: CpuPool
  readonly upstream: UpstreamClient
  readonly documents: DocumentReader
  readonly fetchFile: FetchFile
  readonly pins: ModelPins
  readonly random: () => number
  /** Most bytes of one file. */
  readonly maxFileBytes: number
}

export function ownPlugins(parts: PluginParts): readonly Plugin[] {
  const { catalog, settings, pool, documents, fetchFile, pins, random, maxFileBytes: maxBytes } = parts
  const callJson = jsonCaller(parts.upstream)
  const plugins = () => settings().plugins
  return [
    contextCompression,
    createResponseHealing(pooledRepair(pool)),
    createFileParser({ catalog, documents, fetchFile, ocr: () => ocrOf(settings(), callJson), maxBytes }),
    createModeration(() => moderatorOf(settings(), callJson)),
    createAlignment(() => plugins().alignment.model),
    ...createAutoRouters({ catalog, pins }),
    createParetoRouter(catalog),
    createSwitchyardRouter({ catalog, pins, random, judge: () => plugins()['switchyard-router'].model }),
  ]
}

/** In the pool's unit, a quarter of a microsecond: most texts take less than a microsecond for a character. */
const COST_PER_CHARACTER = 4
const MIN_COST = 1_000

/** A full pool, or a text that takes too long, has no candidates. */
function pooledRepair(pool: CpuPool): RepairJson {
  return async (text, { caller, signal }) => {
    try {
      const cost = Math.max(MIN_COST, COST_PER_CHARACTER * text.length)
      const order = { cost, caller: caller.organizationId, cancellation: cancellationOf(signal) }
      return (await pool.run('repair-json', { text }, order)).value.candidates
    } catch {
      return []
    }
  }
}

function ocrOf({ plugins, credentials }: GatewayConfig, callJson: CallJson): Ocr | null {
  const { ocr } = plugins['file-parser']
  if (ocr === null) return null
  const { url, apiKeyEnv, model, pricePerPage } = ocr
  const apiKey = apiKeyEnv === null ? null : (credentials[apiKeyEnv] ?? null)
  return createOcr(callJson, { url, apiKey, model, pricePerPage })
}

function moderatorOf({ plugins, providers }: GatewayConfig, callJson: CallJson): Moderator | null {
  const { provider: slug, model } = plugins.moderation
  if (slug === null) return model === null ? null : judgeModerator(model)
  const provider = providers[slug]!
  if (provider.kind !== 'openai') return null
  const { name, baseUrl, apiKey, headers } = provider
  return endpointModerator(callJson, { name, baseUrl, apiKey, headers, model })
}
