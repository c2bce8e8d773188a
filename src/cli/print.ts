/** Prints a line for whoever ran the command. */
export function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
