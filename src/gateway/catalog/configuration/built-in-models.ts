/** The models that are there without any configuration, in the form the file gives to models. */

/** A model that needs no configuration, as the simulator declares it. */
export interface BuiltInModel {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly contextLength: number
  readonly maxCompletionTokens: number
  readonly supportedParameters: readonly string[]
  /** Dollars per token, as decimal texts. */
  readonly prices: Readonly<Record<string, string>>
  readonly simulation: unknown
  /** Text to text when absent. */
  readonly modalities?: { readonly input: readonly string[]; readonly output: readonly string[] }
  readonly voices?: readonly string[]
}

/** Entries of `models` that `provider` serves. */
export function builtInModels(provider: string, models: readonly BuiltInModel[]): Record<string, unknown> {
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
