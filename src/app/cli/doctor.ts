import type { Command } from 'commander'
import { logLevelOption } from '../config/options.ts'
import type { DoctorFlags } from './actions/doctor.ts'
import { commandOnData } from './place.ts'
import { run } from './run.ts'

/** `branchline doctor` */
export function doctorCommand(): Command {
  return commandOnData('doctor')
    .description('compare the database with the repositories; exits 1 when problems are left')
    .option('--fsck', 'let Git check every object of every repository too', false)
    .option(
      '--fix',
      'repair the problems that can be repaired; only with the server stopped',
      false,
    )
    .option(
      '--storage',
      'test instead what Git and Branchline need from the file system of the data folder',
      false,
    )
    .addOption(logLevelOption())
    .action(({ storage, ...flags }: DoctorFlags & { readonly storage: boolean }) =>
      run((actions) => (storage ? actions.examineStorage(flags) : actions.doctor(flags))),
    )
}
