/** Returns a number in the reader's format with its noun, such as "1 commit" or "1,200 commits". */
export function counted(count: number | bigint, noun: string): string {
  return `${count.toLocaleString()} ${noun}${Number(count) === 1 ? '' : 's'}`
}
