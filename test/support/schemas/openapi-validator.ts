/** Judges the OpenAPI document, and replies against the document. */
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { HttpReply } from '../clients/http-client.js'

export interface OpenApiDocument {
  readonly openapi: string
  readonly info: { readonly title: string; readonly version: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, object>> }
}

interface Operation {
  readonly operationId: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly required: boolean; readonly content: Content }
  readonly responses: Readonly<Record<string, ResponseDoc>>
}

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly required: boolean
  readonly schema: {
    readonly type: string
    readonly minimum?: number
    readonly maximum?: number
    readonly minLength?: number
    readonly maxLength?: number
    readonly default?: unknown
  }
}

type Content = Readonly<Record<string, { readonly schema: object }>>

interface ResponseDoc {
  readonly description: string
  readonly headers?: Readonly<Record<string, unknown>>
  readonly content?: Content
}

/** An operation with its place in the document. */
export interface PlacedOperation extends Operation {
  readonly method: string
  readonly path: string
}

/** What the OpenAPI 3.1 schema and the reference rules say against a document; empty when it is valid. */
export async function documentFaults(document: OpenApiDocument): Promise<string[]> {
  const result = await new Validator().validate(
    structuredClone(document) as unknown as Record<string, unknown>,
  )
  if (result.valid) return []
  return [result.errors ?? 'invalid'].flat().map((error) => JSON.stringify(error))
}

/** Every operation of a document, in its order. */
export function operationsOf(document: OpenApiDocument): PlacedOperation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      path,
      method: method.toUpperCase(),
    })),
  )
}

/** The name under which a document's components are known to references from outside. */
const COMPONENTS = 'components:document'

/** Compiles the schemas of a document and compares values and replies with them. */
export class DocumentRules {
  readonly #ajv = new Ajv2020({ allErrors: true, strict: true, strictTypes: false, validateFormats: false })
  /** Each schema of the document is compiled once: it takes far longer than to look at a reply. */
  readonly #checks = new Map<object, ValidateFunction>()
  readonly #operations: ReadonlyMap<string, PlacedOperation>

  constructor(document: OpenApiDocument) {
    this.#ajv.addSchema({ $id: COMPONENTS, $defs: relocated(document.components.schemas) })
    this.#operations = new Map(operationsOf(document).map((each) => [each.operationId, each]))
  }

  /** Whether the document lets an operation take this body. Throws when it takes none. */
  takesBody(operationId: string, body: unknown): boolean {
    const content = this.#operation(operationId).requestBody?.content['application/json']
    if (content === undefined) throw new Error(`${operationId} takes no JSON`)
    return this.#compiled(content.schema)(body) as boolean
  }

  /** Everything in which a reply departs from the document. */
  replyFaults(operationId: string, reply: HttpReply): string[] {
    const operation = this.#operation(operationId)
    const doc = operation.responses[String(reply.status)]
    if (doc === undefined) return [`status ${reply.status} is not documented`]
    const absent = Object.keys(doc.headers ?? {}).filter((name) => !(name.toLowerCase() in reply.headers))
    return [...absent.map((name) => `header ${name} is absent`), ...this.#bodyFaults(doc, reply)]
  }

  #bodyFaults(doc: ResponseDoc, reply: HttpReply): string[] {
    const type = reply.headers['content-type']?.split(';')[0]
    const types = Object.keys(doc.content ?? {})
    if (types.length === 0) return reply.body.length > 0 ? ['a body where none is documented'] : []
    if (type === undefined || !types.includes(type)) return [`media type ${type} is none of ${types.join()}`]
    const value: unknown = /^application\/(scim\+)?json$/.test(type) ? reply.json : reply.text
    return this.#valueFaults(doc.content![type]!.schema, value)
  }

  /** A schema that contradicts itself is a fault as well. */
  #valueFaults(schema: object, value: unknown): string[] {
    try {
      const check = this.#compiled(schema)
      if (check(value)) return []
      return (check.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
    } catch (error) {
      return [String(error)]
    }
  }

  #operation(operationId: string): PlacedOperation {
    const operation = this.#operations.get(operationId)
    if (operation === undefined) throw new Error(`there is no operation ${operationId}`)
    return operation
  }

  #compiled(schema: object): ValidateFunction {
    const known = this.#checks.get(schema)
    if (known !== undefined) return known
    const check = this.#ajv.compile(relocated(schema) as object)
    this.#checks.set(schema, check)
    return check
  }
}

/** Schemas that stand alone: references into the document become references to what is known of it. */
function relocated(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(relocated)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      key === '$ref' && typeof member === 'string'
        ? member.replace('#/components/schemas/', `${COMPONENTS}#/$defs/`)
        : relocated(member),
    ]),
  )
}
