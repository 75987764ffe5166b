/**
 * An endpoint: everything the service knows about one method on one path, as one frozen object. Routing, limits,
 * validation, error format, document and statistics all read it; nothing about an operation stands elsewhere.
 */
import type { z } from 'zod'
import { type AccessLevel, isConfigurable } from '../base/access.js'
import type { FaultKind } from '../base/fault.js'
import type { Principal } from '../base/principal.js'
import type { HeaderList, HttpCall, Reply, ResponseSink, StreamResponseBody } from '../transport/exchange.js'
import type { ErrorDialect } from './dialects/dialect.js'
import type { JsonSchema } from './json-schema.js'
import type { FieldValues, TextField, TextFields } from './params.js'

/** What a handler sees of a request, for features: they know this folder and not the transport. */
export type { HeaderList, HttpCall, Reply, ResponseSink, StreamResponseBody }

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** What a status answers with, for the document. */
export interface ReplyDoc {
  readonly description: string
  /** Absent when the answer has no body. */
  readonly schema?: z.ZodType | JsonSchema
  readonly mediaType?: string
  /** Schema of an event's data, where the same status may also answer with an event stream. */
  readonly events?: z.ZodType
  readonly headers?: Readonly<Record<string, string>>
}

/** A body that is read as a stream, for the document. */
interface UploadDoc {
  readonly mediaType: string
  readonly schema: z.ZodType | JsonSchema
  /** Where the handler takes JSON as well. */
  readonly json?: z.ZodType
  /** Fields beside the file, as callers may send them. */
  readonly example?: object
}

export interface EndpointInput<P, Q, B> {
  readonly params: P
  readonly query: Q
  readonly body: B
  /** The caller; `ANONYMOUS` where the operation is open to anyone. */
  readonly caller: Principal
}

export interface EndpointSpec<P extends TextFields, Q extends TextFields, B> {
  /** Name of the operation in the document, in statistics and in metrics. */
  readonly name: string
  readonly method: HttpMethod
  /** Path with `{name}` for each member of `params`, in their order. */
  readonly path: string
  readonly summary: string
  readonly tag: string
  readonly dialect: ErrorDialect
  readonly params?: P
  readonly query?: Q
  readonly body?: z.ZodType<B>
  /** Fields of a form, where the body is one; what they read is the handler's `body`. */
  readonly form?: { readonly [K in keyof B]: TextField<B[K]> }
  /** A list in the body that callers send again and again unchanged: read once, and from then on frozen. */
  readonly remembers?: keyof B & string
  /** Set where the handler reads the body as it comes, from `call.incoming`: what it is made of, for the document. */
  readonly upload?: UploadDoc
  /** Bodies as callers may send them, by a word for what each shows; the JSON ones where there are two kinds. */
  readonly examples?: Readonly<Record<string, object>>
  readonly replies: Readonly<Record<number, ReplyDoc>>
  /** Faults the handler itself can end in; those of the pipeline are known from the members above. */
  readonly faults?: readonly FaultKind[]
  /** Required access; `anyone` when absent. The configuration may say otherwise for an operation (`permissions`). */
  readonly access?: AccessLevel
  /** Whether a session of a browser opens it as well; where it is absent, every operation that asks who calls. */
  readonly sessions?: boolean
  /**
   * Whether this call is too many, asked before anything of it is read. Null lets it go on at once; otherwise it
   * waits, and ends in the fault the promise rejects with.
   */
  readonly limit?: (call: HttpCall) => Promise<void> | null
  /** Whether the handler asks for the caller's address; a limit may ask without. */
  readonly readsAddress?: boolean
  /** Told of every answer to a caller that was let in, refusals included: for a log that the feature keeps. */
  readonly answered?: (call: HttpCall, reply: Reply) => void
  /** Lower-case names of further request headers the handler asks the call for. */
  readonly headers?: readonly string[]
  /** Most bytes of body where the common limit does not fit. */
  readonly bodyLimit?: number
  /** Total deadline in milliseconds where the common one does not fit. */
  readonly deadlineMs?: number
  /** Answers even when calls are shed: what an operator needs to see a full server. */
  readonly vital?: boolean
  /** Needs no credential, and the configuration cannot change that: for verifiers of tokens and for newcomers. */
  readonly open?: boolean
  /** Changes no managed record, although its method and its access are those of operations that do. */
  readonly keepsRecords?: boolean
  /** Left out of the document. */
  readonly hidden?: boolean
  /** The difference this operation makes. Fails by throwing a Fault. */
  handle(input: EndpointInput<FieldValues<P>, FieldValues<Q>, B>, call: HttpCall): Reply | Promise<Reply>
}

/** An endpoint whose input types are closed over; what the pipeline and the document work with. */
export interface Endpoint
  extends Omit<EndpointSpec<TextFields, TextFields, unknown>, 'handle' | 'form' | 'remembers'> {
  readonly params: TextFields
  readonly query: TextFields
  readonly form?: TextFields
  readonly remembers?: string
  readonly handle: (input: EndpointInput<never, never, never>, call: HttpCall) => Reply | Promise<Reply>
}

const NO_FIELDS: TextFields = Object.freeze({})

/** Checks a specification and freezes it. Throws when path and params disagree: that is a defect of ours. */
export function defineEndpoint<
  B = undefined,
  P extends TextFields = TextFields,
  Q extends TextFields = TextFields,
>(spec: EndpointSpec<P, Q, B>): Endpoint {
  const inPath = [...spec.path.matchAll(/\{([^}]+)\}/g)].map((match) => match[1])
  const declared = Object.keys(spec.params ?? {})
  if (inPath.join() !== declared.join()) {
    throw new TypeError(`${spec.method} ${spec.path}: path and params name different parameters`)
  }
  return Object.freeze({
    ...spec,
    params: Object.freeze({ ...(spec.params ?? NO_FIELDS) }),
    query: Object.freeze({ ...(spec.query ?? NO_FIELDS) }),
    replies: Object.freeze({ ...spec.replies }),
  }) as unknown as Endpoint
}

/** What the endpoints of a resource have in common. */
type SharedByEndpoints = Pick<EndpointSpec<TextFields, TextFields, unknown>, 'tag' | 'dialect' | 'access'>

/** What one endpoint says for itself; it may say otherwise than its group. */
type GroupedSpec<P extends TextFields, Q extends TextFields, B> = Omit<
  EndpointSpec<P, Q, B>,
  'name' | 'method' | 'path' | 'tag' | 'dialect'
> &
  Partial<SharedByEndpoints>

/** Defines the endpoints of one resource: by name, by route as in a request line, and what makes each different. */
export function endpointGroup(shared: SharedByEndpoints) {
  return <B = undefined, P extends TextFields = TextFields, Q extends TextFields = TextFields>(
    name: string,
    route: `${HttpMethod} /${string}`,
    spec: GroupedSpec<P, Q, B>,
  ): Endpoint => {
    const [method, path] = route.split(' ') as [HttpMethod, string]
    return defineEndpoint<B, P, Q>({ name, method, path, ...shared, ...spec } as EndpointSpec<P, Q, B>)
  }
}

/** Whether the configuration may change the access. Operations that operators watch keep theirs. */
export function isLockable({ dialect, vital, hidden, open, access = 'anyone' }: Endpoint): boolean {
  return dialect.lockable && vital !== true && hidden !== true && open !== true && isConfigurable(access)
}

/** Whether who calls matters. The configuration may lock what is open by default; of the practice API it may not. */
export function identifiesCaller(endpoint: Endpoint): boolean {
  return (endpoint.access ?? 'anyone') !== 'anyone' || isLockable(endpoint)
}

/** Whether somebody who has signed in may call it by that alone. */
export function takesSessions(endpoint: Endpoint): boolean {
  return endpoint.sessions ?? (identifiesCaller(endpoint) && endpoint.access !== 'connection')
}
