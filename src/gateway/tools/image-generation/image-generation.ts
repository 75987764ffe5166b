/** Lets a model have pictures painted by another one of the catalogue (contract/tools 3.5). */
import type { Catalog, Model } from '../../catalog/catalog.js'
import type { ChatRequest } from '../../formats/canonical.js'
import { type JsonObject, nonEmptyText } from '../../formats/json-values.js'
import type {
  CreatedFile,
  NestedAnswer,
  PreparedTool,
  ServerTool,
  ToolFunction,
  ToolOutcome,
  ToolRefusal,
  ToolRun,
} from '../port/tool.js'

interface ImageGenerationParts {
  /** The catalogue of this moment. */
  readonly catalog: () => Catalog
  /** The configured painter; null where there is none. */
  readonly model: () => string | null
}

/** What serves requests for simulated models where nothing is configured. */
const SIMULATED_PAINTER = 'sim/painter'
const LONGEST_PROMPT = 32_000

const FUNCTION: ToolFunction = {
  name: 'image_generation',
  description: 'Paints a picture. The user is shown it; it need not be repeated in the answer.',
  parameters: {
    type: 'object',
    properties: { prompt: { type: 'string', description: 'What the picture is to show, in words.' } },
    required: ['prompt'],
  },
}

export function createImageGenerationTool(parts: ImageGenerationParts): ServerTool {
  return {
    name: 'image_generation',
    prepare({ parameters }, { isSimulated }) {
      const { model: asked, ...options } = parameters
      const painter = painterFor(asked, parts, isSimulated)
      return 'refused' in painter ? painter : preparedWith(painter, options)
    },
  }
}

/** A model that paints, or why none can be had. */
function painterFor(
  asked: unknown,
  { catalog, model: configured }: ImageGenerationParts,
  isSimulated: boolean,
): Model | ToolRefusal {
  const id = nonEmptyText(asked) ?? configured() ?? (isSimulated ? SIMULATED_PAINTER : null)
  if (id === null) return { refused: 'is not configured: set tools.image_generation.model' }
  const model = catalog().model(id)
  if (model?.outputModalities.includes('image')) return model
  if (asked === undefined)
    return { refused: 'has no model: tools.image_generation.model names none that paints' }
  return { refused: 'names no model that paints', member: ['parameters', 'model'] }
}

function preparedWith(painter: Model, options: JsonObject): PreparedTool {
  return {
    functions: [FUNCTION],
    backend: painter.id,
    // What the picture costs is the price of its own turn beneath the call.
    fee: () => 0,
    run: async ({ arguments: args }, run) => {
      const prompt = nonEmptyText(args.prompt)
      if (prompt === undefined || prompt.length > LONGEST_PROMPT)
        return failed(`prompt must be a text of at most ${LONGEST_PROMPT} characters`, false)
      const { budget, signal } = run
      const request = paintingRequest(painter, prompt, options, run)
      return toOutcome(await run.nested({ purpose: 'painter', request, budget, signal }))
    },
  }
}

function paintingRequest(
  { id, outputModalities }: Model,
  prompt: string,
  options: JsonObject,
  { request: { user, account } }: ToolRun,
): ChatRequest {
  return {
    model: id,
    messages: [{ role: 'user', content: prompt }],
    modalities: outputModalities.includes('text') ? ['image', 'text'] : ['image'],
    ...(Object.keys(options).length > 0 && { image_config: options }),
    ...(user !== undefined && { user }),
    ...(account !== undefined && { account }),
  }
}

function toOutcome(answer: NestedAnswer): ToolOutcome {
  if (!answer.ok) return failed(`the picture could not be painted: ${answer.message}`, answer.wasAsked)
  const { images = [], files = [], text } = answer
  if (images.length === 0) return failed(text === '' ? 'the model has painted nothing' : text)
  const content = { status: 'completed', pictures: images.length, files: files.map(fileTold) }
  return { content, isError: false, executed: true, charged: 0, images, files }
}

function fileTold({ id, filename, mimeType, sizeBytes }: CreatedFile): JsonObject {
  return { file_id: id, filename, mime_type: mimeType, size_bytes: sizeBytes }
}

function failed(error: string, executed = true): ToolOutcome {
  return { content: { error }, isError: true, executed, charged: 0 }
}
