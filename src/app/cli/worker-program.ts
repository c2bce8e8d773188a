import { Command } from 'commander'
import { workerCommand } from './commands.ts'
import { ignoreClosedReaders } from './print.ts'

// The program of the worker processes of `serve --workers`. The primary process starts it with its own
// arguments.
ignoreClosedReaders()
await new Command('branchline').addCommand(workerCommand()).parseAsync(process.argv)
