/** The models that are there without any configuration, in the form the file gives to models. */
import type { ReadyMadeModel } from '../../../simulator/ready-made.js'

/** Entries of `models` that `provider` serves. */
export function builtInModels(provider: string, models: readonly ReadyMadeModel[]): Record<string, unknown> {
  return Object.fromEntries(
    models.map((model) => [
      model.id,
      {
        name: model.name,
        description: model.description,
        context_length: model.contextLength,
        max_completion_tokens: model.maxCompletionTokens,
        supported_parameters: model.supportedParameters,
        ...(model.modalities !== undefined && {
          input_modalities: model.modalities.input,
          output_modalities: model.modalities.output,
        }),
        ...(model.voices !== undefined && { supported_voices: [...model.voices] }),
        endpoints: [{ provider, prices: model.prices, simulation: model.simulation }],
      },
    ]),
  )
}
