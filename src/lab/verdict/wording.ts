/** Figures as people read them. */

/** Milliseconds without the unit, with no more digits than a histogram of 1.6 % steps can tell. */
export function formatMs(value: number): string {
  const size = Math.abs(value)
  if (size >= 100) return value.toFixed(0)
  if (size >= 10) return trimZeros(value.toFixed(1))
  return size >= 0.1 ? trimZeros(value.toPrecision(3)) : trimZeros(value.toFixed(3))
}

/** A count or a rate. */
export function formatNumber(value: number): string {
  return Math.abs(value) >= 1000 || Number.isInteger(value) ? value.toFixed(0) : trimZeros(value.toFixed(1))
}

export function formatRatio(value: number): string {
  return Math.abs(value) < 10 ? value.toFixed(2) : value.toFixed(0)
}

/** A share of 0 to 1 in percent, without the sign of percent. */
export function formatPercent(share: number): string {
  const value = share * 100
  return trimZeros(Math.abs(value) < 10 ? value.toFixed(1) : value.toFixed(0))
}

function trimZeros(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text
}
