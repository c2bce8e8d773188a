/** Prints a line to stdout. */
export function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

/** Ignores that the reader of stdout or stderr has closed it (EPIPE, pipe(7)). */
export function ignoreClosedReaders(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
    })
  }
}
