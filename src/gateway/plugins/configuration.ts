/**
 * What the operator says of plugins: which run for requests that do not ask for them, and what they need to run.
 */
import { z } from 'zod'
import { nanosPerMillion } from '../../base/money.js'
import {
  baseUrl,
  camelCased,
  flag,
  MILLION,
  modelId,
  nonEmptyText,
  orNull,
  perRequest,
  slug,
  variableName,
} from '../catalog/configuration/values.js'
import type { JsonObject } from '../formats/json-values.js'

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

const ocr = z
  .strictObject({
    url: baseUrl.describe('Address of the operation, such as https://api.mistral.ai/v1/ocr.'),
    api_key_env: orNull(variableName).describe(
      'Environment variable with its key; none is sent when absent.',
    ),
    model: nonEmptyText(200).default('mistral-ocr-latest'),
    price_per_page: perRequest
      .default('0')
      .transform((dollars) => nanosPerMillion(dollars)! / MILLION)
      .describe('Dollars that a caller is charged for each page; 0 when absent.'),
  })
  .transform(camelCased)

const fileParserSection = z
  .strictObject({
    ocr: orNull(ocr).describe('The service that reads scans, in the shape of Mistral’s OCR operation.'),
  })
  .prefault({})
  .describe('Reads PDFs for models.')

const moderationSection = z
  .strictObject({
    provider: orNull(slug).describe('A provider of this file that has `POST /moderations`.'),
    model: orNull(nonEmptyText(200)).describe(
      'With a provider, the model that it is asked for; without one, a model of this file that judges.',
    ),
  })
  .prefault({})
  .describe('Keeps harmful words from models. Requests that ask for it are refused where this is empty.')

/** Of a plugin that asks a model of the catalogue to judge. */
function judgeSection(about: string) {
  return z
    .strictObject({ model: orNull(modelId).describe('A model of this file, which judges.') })
    .prefault({})
    .describe(about)
}

/** Two defaults of one plugin for one organization would refuse all of its requests. */
function refuseTwins({ value, issues }: z.core.ParsePayload<DefaultPlugin[]>): void {
  value.forEach(({ id, organizations }, at) => {
    const isTwin = value
      .slice(0, at)
      .some(
        (other) =>
          other.id === id &&
          (organizations === null ||
            other.organizations === null ||
            organizations.some((each) => other.organizations!.includes(each))),
      )
    if (!isTwin) return
    const message = 'is a default of the same organization already'
    issues.push({ code: 'custom', input: id, path: [at, 'plugin', 'id'], message })
  })
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
        .check(refuseTwins)
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
