/** Sections of plugins that ask a model of the catalogue to judge. */
import { z } from 'zod'
import { modelId, orNull } from '../../catalog/configuration/values.js'

export function judgeSection(about: string) {
  return z
    .strictObject({ model: orNull(modelId).describe('A model of this file, which judges.') })
    .prefault({})
    .describe(about)
}
