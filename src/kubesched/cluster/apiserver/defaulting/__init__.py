"""What an object gets for the fields that its writer left out (`SetDefaults_*` upstream). All in place."""
