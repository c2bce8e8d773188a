import { judgeNode } from './node-version.mjs'
import { PRIVATE_UMASK } from './private-files.ts'

// Git processes and workers inherit the mask.
process.umask(PRIVATE_UMASK)

const { refusal, warning } = judgeNode(process.version)
if (warning !== undefined) process.stderr.write(`branchline: warning: ${warning}\n`)
if (refusal === undefined) {
  // Imported after the check, since a native addon for another version of Node ends the process.
  const { runCommandLine } = await import('./cli.ts')
  await runCommandLine(process.argv, process.env)
} else {
  process.stderr.write(`branchline: ${refusal}\n`)
  process.exitCode = 1
}
