/**
 * What screens show of the API: one record, or a list in pages. Leaving a screen aborts what it waits for. Asking does not
 * wait for the screen's first picture, so the answer may be there when it is painted.
 */
import { useCallback, useLayoutEffect, useState } from 'preact/hooks'
import { call, type Problem } from './call.ts'

export interface Resource<T> {
  /** Undefined until the first answer; the answer before stays while the next one is under way. */
  readonly data: T | undefined
  readonly etag: string | null
  readonly problem: Problem | null
  /** Asks again. */
  readonly reload: () => void
  /** Puts what a change has answered in the place of what was read. */
  readonly put: (data: T, etag?: string | null) => void
}

interface State<T> {
  /** What it is of, without the query: records of another path are not shown in its place. */
  readonly of: string
  readonly data: T | undefined
  readonly etag: string | null
  readonly problem: Problem | null
}

/** Reads `path`; nothing is read for null. */
export function useResource<T>(path: string | null): Resource<T> {
  const of = path?.split('?')[0] ?? ''
  const [state, setState] = useState<State<T>>({ of, data: undefined, etag: null, problem: null })
  const [round, setRound] = useState(0)
  useLayoutEffect(() => {
    if (path === null) return
    const leaving = new AbortController()
    void call<T>('GET', path, { signal: leaving.signal }).then((outcome) =>
      setState((before) => {
        if (outcome.ok) return { of, data: outcome.data, etag: outcome.etag, problem: null }
        return { of, data: before.of === of ? before.data : undefined, etag: null, problem: outcome.problem }
      }),
    )
    return () => leaving.abort()
  }, [path, of, round])
  const shown = state.of === of ? state : { data: undefined, etag: null, problem: null }
  const reload = useCallback(() => setRound((before) => before + 1), [])
  const put = useCallback(
    (data: T, etag: string | null = null) => setState((before) => ({ ...before, data, etag, problem: null })),
    [],
  )
  return { data: shown.data, etag: shown.etag, problem: shown.problem, reload, put }
}

/** An answer of a list; which of the members are there tells how its next page is asked for. */
interface Page<T> {
  readonly data: readonly T[]
  readonly total_count?: number
  readonly next_cursor?: string | null
  /** What a list of files calls it. */
  readonly cursor?: string | null
}

export interface Pages<T> {
  /** Undefined until the first answer. */
  readonly rows: readonly T[] | undefined
  /** Rows of all pages, where the answer tells. */
  readonly total: number | undefined
  readonly problem: Problem | null
  readonly hasMore: boolean
  readonly isLoading: boolean
  readonly more: () => void
  readonly reload: () => void
}

interface Loaded<T> {
  readonly path: string
  readonly rows: readonly T[] | undefined
  readonly total?: number | undefined
  readonly problem: Problem | null
  /** Query of the next page; null behind the last one. */
  readonly next: string | null
}

/**
 * Reads a list page by page, by cursor or by offset.
 *
 * @param fullPage rows of a full page, where the answer tells neither a cursor nor a total
 */
export function usePages<T>(path: string, fullPage = 100): Pages<T> {
  const [loaded, setLoaded] = useState<Loaded<T>>({ path, rows: undefined, problem: null, next: null })
  /** Pages to have been asked for, and how often the list was begun anew. */
  const [wanted, setWanted] = useState({ next: '', round: 0 })
  const [isLoading, setLoading] = useState(true)
  useLayoutEffect(() => {
    const leaving = new AbortController()
    const isFirst = wanted.next === '' || loaded.path !== path
    const query = isFirst ? '' : `${path.includes('?') ? '&' : '?'}${wanted.next}`
    setLoading(true)
    void call<Page<T>>('GET', path + query, { signal: leaving.signal }).then((outcome) => {
      setLoading(false)
      setLoaded((before) => {
        if (!outcome.ok) return { ...before, path, problem: outcome.problem }
        const rows = [...(isFirst ? [] : (before.rows ?? [])), ...outcome.data.data]
        const total = outcome.data.total_count
        return { path, rows, total, problem: null, next: nextOf(outcome.data, rows.length, fullPage) }
      })
    })
    return () => leaving.abort()
  }, [path, wanted])
  const { rows, total, problem, next } = loaded
  const more = useCallback(() => setWanted(({ round }) => ({ next: next ?? '', round })), [next])
  const reload = useCallback(() => setWanted(({ round }) => ({ next: '', round: round + 1 })), [])
  return { rows, total, problem, hasMore: next !== null, isLoading, more, reload }
}

function nextOf(
  { data, total_count, cursor, next_cursor = cursor }: Page<unknown>,
  read: number,
  fullPage: number,
): string | null {
  if (next_cursor !== undefined)
    return next_cursor === null ? null : `cursor=${encodeURIComponent(next_cursor)}`
  const isLast = total_count === undefined ? data.length < fullPage : read >= total_count || data.length === 0
  return isLast ? null : `offset=${read}`
}
