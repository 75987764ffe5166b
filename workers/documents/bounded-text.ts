/** Texts of strangers, cut to what was asked for. */

/** The first `max` UTF-16 units, without half a character at the end. */
export function cutText(text: string, max: number): string {
  if (text.length <= max) return text
  const last = text.charCodeAt(max - 1)
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? max - 1 : max)
}

const MOST_TITLE = 300

/** On one line. */
export function boundedTitle(title: unknown): string {
  if (typeof title !== 'string') return ''
  return cutText(
    title
      .slice(0, 10 * MOST_TITLE)
      .replace(/\s+/g, ' ')
      .trim(),
    MOST_TITLE,
  )
}
