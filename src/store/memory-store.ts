/**
 * The port of what models keep between conversations: texts under keys, a set for each workspace. A key says where a
 * text stands as a path does, but nothing of it ever becomes a path on the disk.
 */
import type { MaybePromise } from '../base/maybe-promise.js'

/** The texts of one workspace, within one transaction. */
export interface KeyedTexts {
  get(key: string): string | null
  /** In the order of their keys; `bytes` in UTF-8. */
  list(): readonly { readonly key: string; readonly bytes: number }[]
  /** False for what can be no key, and where there is no room; then nothing has changed. */
  put(key: string, text: string): boolean
  remove(key: string): void
  /** Gives a text another key, which no text has; nothing happens where there is no text, or that can be no key. */
  move(key: string, target: string): void
}

/** What any process has acknowledged, every process reads. */
export interface MemoryStore {
  /** Several reads of one state; `work` changes nothing. */
  read<T>(workspaceId: string, work: (texts: KeyedTexts) => T): MaybePromise<T>
  /**
   * Runs `work` alone among all processes; resolves with what it returned when the disk has it. `work` must not throw.
   * Fails with `unavailable` when the store cannot take it.
   */
  change<T>(workspaceId: string, work: (texts: KeyedTexts) => T): Promise<T>
}

/** Of a workspace. */
export const MOST_TEXTS = 1_000
export const MOST_TEXT_BYTES = 4 * 1024 * 1024
/** Of one text, in bytes. */
export const LONGEST_TEXT = 256 * 1024

/** `[\w./-]{1,256}`, without empty parts and those that lead elsewhere in a path. */
export function isTextKey(key: string): boolean {
  return /^[\w./-]{1,256}$/.test(key) && key.split('/').every((part) => !/^\.{0,2}$/.test(part))
}
