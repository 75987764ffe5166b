/** What a format of providers says of its answers: how a document and how the events of a stream are read. */
import type { Fault } from '../../../base/fault.js'
import type { RepeatedEvent } from '../../../upstream/repeated-event.js'
import type { JsonObject } from '../../formats/json-values.js'

/** How the JSON object of a whole answer is read. */
export interface DocumentFormat<A> {
  /**
   * Null when the body holds no answer; the fault of one that broke off before it said anything. `faultOf` reads an
   * error that stands within an answer.
   */
  parse(body: JsonObject, generationId: string, faultOf: (error: unknown) => Fault): A | Fault | null
  /** What such a body is, in words for the log. */
  readonly missing: string
  /** The error in a body, if there is one; its member `error` when absent. */
  readonly errorIn?: (body: JsonObject) => unknown
}

/** How the events of a streamed answer are read. */
export interface StreamFormat<E, A> {
  createReader(generationId: string, emit: (event: E) => void): StreamReader<E>
  /** Whether the data of an event is the terminator of the answer. */
  isTerminator(data: string): boolean
  /** A server may answer with a document although it was asked for a stream. */
  readonly document: DocumentFormat<A>
  eventsOf(answer: A): readonly E[]
  /** Why such an answer broke off after what its events say; null when it did not. */
  readonly brokenBy?: (answer: A) => Fault | null
}

/** Reads one streamed answer and emits what its events say. */
export interface StreamReader<E> {
  /** Takes the data of one event and its name. `end` for the terminator; what is wrong with it; null otherwise. */
  read(data: string, name: string): StreamDefect | 'end' | null
  /**
   * The form of the event that was read last, where it was a piece of text: another one of this form, right behind it,
   * says another text and changes nothing else. Null for any other event.
   */
  formOf(data: string, name: string): RepeatedEvent | null
  /** Takes an event of the form that was asked for last. */
  readRepeated(event: RepeatedEvent): void
  /** After the terminator: emits what is left. What is missing for a whole answer, in words for the log, or null. */
  close(): string | null
  /** The figures that came before a failure: the provider may well bill them. */
  usageBeforeFailure(): E | null
}

/** An event that is none of the format, in words for the log, or an error of the provider's. */
export type StreamDefect = { readonly malformed: string } | { readonly error: unknown }
