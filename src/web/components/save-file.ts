/** Time in which a browser has begun to store a file. */
const START_MS = 60_000

/** Stores bytes of the page as a file of the user. */
export function saveFile(name: string, content: Blob): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(content)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), START_MS)
}
