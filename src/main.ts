import { judgeNode } from './node-version.mjs'

const { refusal, warning } = judgeNode(process.version)
if (warning !== undefined) process.stderr.write(`branchline: warning: ${warning}\n`)
if (refusal === undefined) {
  // Imported after the check: a native addon ends the process where it does not fit the version of
  // Node.
  const { runCommandLine } = await import('./cli.ts')
  await runCommandLine(process.argv, process.env)
} else {
  process.stderr.write(`branchline: ${refusal}\n`)
  process.exitCode = 1
}
