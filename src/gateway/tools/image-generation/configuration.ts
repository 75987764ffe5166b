/** What the operator says of the painter. */
import { modelId, orNull } from '../../catalog/configuration/values.js'

export const imageGenerationMembers = {
  model: orNull(
    modelId.describe('The model that paints: one of this server whose output_modalities have image.'),
  ),
}
