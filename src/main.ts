import { runCommandLine } from './cli.ts'

await runCommandLine(process.argv, process.env)
