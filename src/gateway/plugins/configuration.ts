/**
 * What the operator says of plugins: which run for requests that do not ask for them, and what they need to run. The
 * members of a plugin stand in its folder (`configuration.ts`) and come in by one line here.
 */
import { z } from 'zod'
import { camelCased, flag } from '../catalog/configuration/values.js'
import type { JsonObject } from '../formats/json-values.js'
import { fileParserSection } from './file-parser/configuration.js'
import { judgeSection } from './judge/configuration.js'
import { moderationSection } from './moderation/configuration.js'

/** A plugin as a request would name it. */
interface PluginRequest {
  readonly id: string
  readonly enabled?: boolean
}

/** A plugin that runs for requests that do not name it. */
export interface DefaultPlugin {
  readonly id: string
  readonly options: JsonObject
  /** Ids of the organizations whose requests it is for; null for all. */
  readonly organizations: readonly string[] | null
  /** A request may switch it off, and give it other options. */
  readonly overridable: boolean
}

/** `plugin`: schema of a plugin in a request; its ids and options are the same here. */
export function pluginsSchema(plugin: z.ZodType) {
  const defaults = z
    .strictObject({
      plugin: plugin
        .refine((named) => (named as PluginRequest).enabled !== false, 'must not be switched off here')
        .describe('As a request names it.'),
      organizations: z
        .array(z.uuid('must be the id of an organization'))
        .min(1)
        .optional()
        .describe('For whose requests; for all when absent.'),
      overridable: flag
        .default(true)
        .describe('Whether a request may switch it off (`enabled: false`) or give it other options.'),
    })
    .transform(({ plugin: named, organizations, overridable }): DefaultPlugin => {
      const { id, enabled: _, ...options } = named as PluginRequest
      return { id, options: options as JsonObject, organizations: organizations ?? null, overridable }
    })
  return z
    .strictObject({
      defaults: z
        .array(defaults)
        .max(100)
        .default([])
        .describe('Plugins for requests that do not name them.'),
      alignment: judgeSection(
        'Holds answers to rules. Requests that ask for it are refused where no model judges.',
      ),
      'file-parser': fileParserSection,
      moderation: moderationSection,
      'switchyard-router': judgeSection(
        'Chooses a cheap or a capable model; some of its algorithms ask a judge.',
      ),
    })
    .transform(camelCased)
    .describe('Plugins: which run unasked, and what they need.')
}

export type PluginsConfig = z.output<ReturnType<typeof pluginsSchema>>
