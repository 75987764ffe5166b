/** `plugins.moderation` of the configuration. */
import { z } from 'zod'
import { nonEmptyText, orNull, slug } from '../../catalog/configuration/values.js'

export const moderationSection = z
  .strictObject({
    provider: orNull(slug).describe('A provider of this file that has `POST /moderations`.'),
    model: orNull(nonEmptyText(200)).describe(
      'With a provider, the model that it is asked for; without one, a model of this file that judges.',
    ),
  })
  .prefault({})
  .describe('Keeps harmful words from models. Requests that ask for it are refused where this is empty.')
