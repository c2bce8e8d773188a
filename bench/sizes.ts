/**
 * Whether the bench only checks (`--check`): each group runs with the smallest data, sends one
 * request of each case, and compares the responses. The figures mean nothing.
 */
export const isCheck = process.argv.includes('--check')

/** Returns an amount for figures, or the smaller one that a check needs. */
export function sized<T>(measured: T, checked: T): T {
  return isCheck ? checked : measured
}
