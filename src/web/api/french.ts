import type { Catalogue } from '../language/catalogue.ts'
import { frenchReasons } from './french-reasons.ts'

/** Texts of calls to the server and their failures, in French. */
export const french = {
  'Ask a reviewer to approve the changes.':
    'Demandez à un relecteur d’approuver les modifications.',
  'Check the name and the password, then try again.':
    'Vérifiez le nom et le mot de passe, puis réessayez.',
  'Make the requested changes, or ask the reviewer to review again.':
    'Apportez les modifications demandées, ou demandez une nouvelle revue.',
  'Type your present password or a passcode. Without both, sign out and in again first.':
    'Saisissez votre mot de passe actuel ou un code à usage unique. Si vous n’avez ni l’un ni l’autre, déconnectez-vous d’abord, puis reconnectez-vous.',
  'Use another address.': 'Utilisez une autre adresse.',
  'Open the page on the machine of the server, or use the command below.':
    'Ouvrez la page sur la machine du serveur, ou utilisez la commande ci-dessous.',
  'Add the signature that proves that the key is yours, or set your e-mail address to one of the key.':
    'Ajoutez la signature qui prouve que la clé est à vous, ou choisissez comme adresse e-mail une de celles de la clé.',
  'Run the command again, and paste all of its output.':
    'Relancez la commande, et collez toute sa sortie.',
  'Choose that the content is deleted too, or delete or transfer it first.':
    'Choisissez de supprimer aussi le contenu, ou commencez par le supprimer ou le transférer.',
  'Update the branch of the pull request from its target first.':
    'Mettez d’abord à jour la branche de la pull request depuis sa cible.',
  'New commits have arrived. Look at them, then merge again.':
    'De nouveaux commits sont arrivés. Examinez-les, puis fusionnez de nouveau.',
  'Add the address again, and open the link of the new mail.':
    'Ajoutez de nouveau l’adresse, et ouvrez le lien du nouveau message.',
  'Paste the whole output of the command, with its first and last line.':
    'Collez toute la sortie de la commande, avec sa première et sa dernière ligne.',
  'Ask for a new mail.': 'Demandez un nouveau message.',
  'Paste the one line of the file that ends in .pub.':
    'Collez l’unique ligne du fichier dont le nom se termine par .pub.',
  'Make another member an owner of the organisation, or delete the organisation first.':
    'Nommez d’abord un autre membre propriétaire de l’organisation, ou supprimez l’organisation.',
  'Make another user an administrator first.':
    'Nommez d’abord un autre utilisateur administrateur.',
  'Ask the administrator to configure mail.':
    'Demandez à l’administrateur de configurer l’envoi d’e-mails.',
  'Merge the target branch into this one, resolve the conflicts, and push.':
    'Fusionnez la branche cible dans celle-ci, résolvez les conflits, puis poussez.',
  'Ask somebody who may write to the repository.':
    'Demandez à quelqu’un qui peut écrire dans le dépôt.',
  'Leave the protected files as they are, or ask an administrator.':
    'Laissez les fichiers protégés tels quels, ou demandez à un administrateur.',
  'Push new commits, or close the pull request.':
    'Poussez de nouveaux commits, ou fermez la pull request.',
  'Remove the mark of unfinished work from the title first.':
    'Retirez d’abord du titre la marque de travail en cours.',
  'Use the pull request that these branches have.': 'Utilisez la pull request de ces branches.',
  'Rebase the branch, resolve the conflicts, and push.':
    'Rebasez la branche, résolvez les conflits, puis poussez.',
  'Wait for the requested reviews.': 'Attendez les revues demandées.',
  'Use a key of its own for each account.': 'Utilisez une clé propre à chaque compte.',
  'Wait until the required checks have succeeded.':
    'Attendez que les vérifications requises aient réussi.',
  'Type the six digits that the app shows now. Each of them works once.':
    'Saisissez les six chiffres que l’application affiche maintenant. Chaque code ne sert qu’une fois.',
  'Choose a longer password that is not the username.':
    'Choisissez un mot de passe plus long, différent du nom d’utilisateur.',
  'Check the address. If it is private, sign in with an account that may see it.':
    'Vérifiez l’adresse. Si le contenu est privé, connectez-vous avec un compte qui y a accès.',
  'Sign in, then try again.': 'Connectez-vous, puis réessayez.',
  'Ask an owner of the repository for access.': 'Demandez l’accès à un propriétaire du dépôt.',
  'Correct the input, then try again.': 'Corrigez la saisie, puis réessayez.',
  'Wait a while, then try again.': 'Patientez un peu, puis réessayez.',
  'Try again.': 'Réessayez.',
  'Check the connection, or wait a few seconds, then try again.':
    'Vérifiez la connexion, ou attendez quelques secondes, puis réessayez.',
  'This page is out of date': 'Cette page n’est plus à jour',
  'A part of this page has not loaded': 'Une partie de cette page n’a pas été chargée',
  'The server has another version. Keep a copy of what you have typed, then reload the page.':
    'Le serveur a une autre version. Gardez une copie de ce que vous avez saisi, puis rechargez la page.',
  'Keep a copy of what you have typed, then reload the page.':
    'Gardez une copie de ce que vous avez saisi, puis rechargez la page.',
  'This page has a fault': 'Cette page a un défaut',
  'Reload the page. If the fault comes again, tell the administrator the reason.':
    'Rechargez la page. Si le défaut se répète, indiquez la raison à l’administrateur.',
  'the server does not answer': 'le serveur ne répond pas',
  'the server has answered with status {status}': 'le serveur a répondu avec le statut {status}',
  'the server is not ready': 'le serveur n’est pas prêt',
  'the server has ended the upload': 'le serveur a mis fin à l’envoi',
  'the upload was stopped': 'l’envoi a été interrompu',
  'this browser stores nothing for the server': 'ce navigateur n’enregistre rien pour le serveur',
  'no sign-in of this tab waits for this answer':
    'aucune connexion de cet onglet n’attend cette réponse',
  'the provider refused the sign-in: {why}': 'le fournisseur a refusé la connexion : {why}',
  'it gave no reason': 'il n’a donné aucune raison',
  ...frenchReasons,
} satisfies Catalogue
