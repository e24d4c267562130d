"""What can be done to objects. Every verb is synchronous and atomic; durability is waited for by who answers."""
